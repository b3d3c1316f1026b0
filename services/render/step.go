// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// step is a function of a pipeline that is ready to run.
type step struct {
	spec      *kptfilev1.Function
	evaluator evaluation.Evaluator
	record    renderstatus.Function
}

// evaluate runs a function on the state and returns its accepted output. It does not change the state.
func (p *pipeline) evaluate(ctx context.Context, s *step) ([]*yaml.RNode, error) {
	selected, unmatched := selectResources(s.spec, p.resources)
	s.record.Unmatched = unmatched
	p.emit(&FunctionStarted{Function: s.record, Resources: len(selected), Selected: selects(s.spec)})
	output, report, err := p.call(ctx, s, selected)
	if err != nil {
		s.record.Rejected = errors.As(err, new(*OutputError))
		s.record.SetFailure(message(err))
	}
	p.functions = append(p.functions, s.record)
	p.emit(&FunctionFinished{Function: s.record, Report: report, Err: err})
	return output, err
}

func (p *pipeline) call(ctx context.Context, s *step, selected []*yaml.RNode) (output []*yaml.RNode, report *evaluationv1.Evaluation, err error) {
	if err := p.checkInput(selected); err != nil {
		return nil, nil, err
	}
	config, err := p.configs.of(s.spec)
	if err != nil {
		return nil, nil, err
	}
	in, err := newInput(p.resources, selected, config)
	if err != nil {
		return nil, nil, err
	}
	in.withSelectionIDs, in.withMigrationIDs = selects(s.spec), !s.record.Validator
	in.kept, in.hadKptfile = p.configs.has, p.hasKptfile(p.resources)
	// The output replaces the input only if it is accepted.
	defer func() {
		if err != nil || s.record.Validator || p.keepInput {
			in.parked.restore()
		}
	}()
	output, report, err = p.attempt(ctx, s, in, p.callInProcess)
	if errors.Is(err, errNeedsPrinting) {
		in.parked.restore()
		in.unprinted = false
		output, report, err = p.attempt(ctx, s, in, p.callWithBytes)
	}
	return output, report, err
}

// attempt evaluates a function with call and accepts its output.
func (p *pipeline) attempt(
	ctx context.Context, s *step, in *input, call func(context.Context, *step, *input) ([]*yaml.RNode, *evaluationv1.Evaluation, error),
) ([]*yaml.RNode, *evaluationv1.Evaluation, error) {
	output, report, err := call(ctx, s, in)
	if err != nil || report.GetFailure() != nil {
		if err == nil {
			err = &FunctionError{Function: s.record.Title(), Report: report}
		}
		return nil, report, err
	}
	if output, err = p.accept(in, output, s.record.Validator); err != nil && !errors.Is(err, errNeedsPrinting) {
		err = &OutputError{Function: s.record.Title(), Err: err}
	}
	return output, report, err
}

// callWithBytes evaluates a function on the printed list and parses its output.
func (p *pipeline) callWithBytes(ctx context.Context, s *step, in *input) ([]*yaml.RNode, *evaluationv1.Evaluation, error) {
	list, err := in.encode()
	if err != nil {
		return nil, nil, fmt.Errorf("write the input of function %q: %w", s.record.Title(), err)
	}
	in.parked.parkAll(in.kept)
	response, err := s.call(ctx, list)
	if err != nil || response.Report.GetFailure() != nil {
		return nil, response.Report, err
	}
	output, err := decode(response.ResourceList)
	if err != nil {
		err = &OutputError{Function: s.record.Title(), Err: err}
	}
	return output, response.Report, err
}

// call evaluates the function and records its report.
func (s *step) call(ctx context.Context, list []byte) (evaluation.Response, error) {
	begin := time.Now()
	response, err := s.evaluator.Evaluate(ctx, evaluation.Request{Image: s.record.Title(), ResourceList: list})
	s.record.Duration = renderstatus.Duration(time.Since(begin))
	switch {
	case errors.As(err, new(*evaluation.NotFoundError)):
		return response, err
	case err != nil:
		return response, fmt.Errorf("func eval %q failed: %w", s.record.Title(), err)
	}
	s.record.SetReport(response.Report)
	return response, nil
}

// message returns the text of an error for the function's record, which has stderr and results in separate fields.
func message(err error) string {
	if failed, ok := errors.AsType[*FunctionError](err); ok {
		return failed.Report.GetFailure().GetMessage()
	}
	return err.Error()
}
