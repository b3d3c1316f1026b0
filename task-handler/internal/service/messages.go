// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"strings"
	"time"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/renderstatus"
	"github.com/krmfn/krmfn/task-handler/internal/rendering"
)

// resultOf returns the message for the result of a render.
func resultOf(r rendering.Result) *taskhandlerv1.RenderResult {
	out := &taskhandlerv1.RenderResult{
		Status:     &taskhandlerv1.RenderStatus{Error: validUTF8(r.Report.Error)},
		Package:    r.Package,
		InputHash:  r.InputHash,
		OutputHash: r.OutputHash,
	}
	if list := r.Report.Result; list != nil {
		out.Status.Result = &taskhandlerv1.FunctionResultList{
			ApiVersion: list.APIVersion, Kind: list.Kind, Metadata: &taskhandlerv1.ObjectMeta{Name: list.Name}, ExitCode: toInt32(list.ExitCode),
		}
		for i := range list.Items {
			out.Status.Result.Items = append(out.Status.Result.Items, functionResult(&list.Items[i]))
		}
	}
	for i := range r.Report.Functions {
		f := function(&r.Report.Functions[i])
		f.Item = new(toInt32(i))
		out.Functions = append(out.Functions, f)
	}
	return out
}

func function(f *renderstatus.Function) *taskhandlerv1.Function {
	return &taskhandlerv1.Function{
		Package: f.Package, Validator: f.Validator, Index: toInt32(f.Index), Name: validUTF8(f.Name), Function: validUTF8(f.Title()),
		Error: validUTF8(f.Error), Rejected: f.Rejected, Evaluator: evaluator(f.Evaluator), Implementation: f.Implementation,
		Digest: f.Digest, Duration: durationpb.New(time.Duration(f.Duration)),
	}
}

func functionResult(r *renderstatus.Result) *taskhandlerv1.FunctionResult {
	out := &taskhandlerv1.FunctionResult{Image: r.Image, Exec: validUTF8(r.Exec), Stderr: validUTF8(r.Stderr), ExitCode: toInt32(r.ExitCode)}
	for i := range r.Results {
		out.Results = append(out.Results, resultItem(&r.Results[i]))
	}
	return out
}

func resultItem(item *fnresultv1.ResultItem) *evaluationv1.Result {
	out := &evaluationv1.Result{Message: validUTF8(item.Message), Severity: validUTF8(string(item.Severity)), Tags: map[string]string{}}
	for k, v := range item.Tags {
		out.Tags[validUTF8(k)] = validUTF8(v)
	}
	if ref := item.ResourceRef; ref != nil {
		out.ResourceRef = &evaluationv1.ResourceRef{
			ApiVersion: validUTF8(ref.APIVersion), Kind: validUTF8(ref.Kind), Name: validUTF8(ref.Name), Namespace: validUTF8(ref.Namespace),
		}
	}
	if f := item.Field; f != nil {
		out.Field = &evaluationv1.Field{Path: validUTF8(f.Path), CurrentValue: validUTF8(f.CurrentValue), ProposedValue: validUTF8(f.ProposedValue)}
	}
	if f := item.File; f != nil {
		out.File = &evaluationv1.File{Path: validUTF8(f.Path), Index: toInt32(f.Index)}
	}
	return out
}

func evaluator(name string) evaluationv1.Evaluator {
	return evaluationv1.Evaluator(evaluationv1.Evaluator_value["EVALUATOR_"+strings.ToUpper(name)])
}

// validUTF8 replaces invalid UTF-8, because protobuf rejects messages with invalid strings.
func validUTF8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// toInt32 converts counts and exit codes, which do not overflow.
func toInt32(n int) int32 { return int32(n) } //nolint:gosec // see above

// progressOf returns the message for an event; nil for events without a message.
func progressOf(event render.Event) *taskhandlerv1.Progress {
	switch e := event.(type) {
	case *render.Started:
		return started(e)
	case *render.PackageStarted:
		return &taskhandlerv1.Progress{Event: &taskhandlerv1.Progress_PackageStarted{PackageStarted: &taskhandlerv1.PackageStarted{
			Package: e.Package, Resources: toInt32(e.Resources),
		}}}
	case *render.PackageFinished:
		finished := &taskhandlerv1.PackageFinished{Package: e.Package}
		if e.Err != nil {
			finished.Error = validUTF8(e.Err.Error())
		}
		return &taskhandlerv1.Progress{Event: &taskhandlerv1.Progress_PackageFinished{PackageFinished: finished}}
	case *render.FunctionStarted:
		return &taskhandlerv1.Progress{Event: &taskhandlerv1.Progress_FunctionStarted{FunctionStarted: &taskhandlerv1.FunctionStarted{
			Function: function(&e.Function), Resources: toInt32(e.Resources), Selected: e.Selected,
		}}}
	case *render.FunctionFinished:
		entry := e.Function.Entry()
		return &taskhandlerv1.Progress{Event: &taskhandlerv1.Progress_FunctionFinished{FunctionFinished: &taskhandlerv1.FunctionFinished{
			Function: function(&e.Function), Result: functionResult(&entry),
		}}}
	}
	return nil
}

func started(e *render.Started) *taskhandlerv1.Progress {
	s := &taskhandlerv1.RenderStarted{}
	for _, p := range e.Packages {
		s.Packages = append(s.Packages, &taskhandlerv1.PlannedPackage{
			Package: p.Package, Depth: toInt32(p.Depth), Functions: toInt32(p.Functions),
		})
	}
	return &taskhandlerv1.Progress{Event: &taskhandlerv1.Progress_Started{Started: s}}
}
