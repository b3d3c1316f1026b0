// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/image"
	"github.com/krmfn/krmfn/services/packages"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/renderstatus"
	"github.com/krmfn/krmfn/services/resource"
)

// evalList evaluates a function over resources from files or the standard input. Its output stays as the function wrote
// it, unless it is asked for in another form.
func (c *command) evalList(ctx context.Context, f *evalFlags, inputs []string, config *functionConfig) error {
	list, resources, err := c.readList(inputs, config)
	if err != nil {
		return err
	}
	output, result, err := c.evaluate(ctx, f, list, resources)
	c.summary(result.Functions)
	if err == nil && !f.output.json() {
		err = c.writeList(output, f.output.output)
	}
	if resultsErr := c.writeResults(f.output.resultsDir, result); err == nil {
		err = resultsErr
	}
	if !f.output.json() {
		return err
	}
	doc := report.NewDocument(result, nil, false)
	doc.ResourceList = string(output)
	return errors.Join(err, report.WriteJSON(c.Out, doc))
}

// evaluate evaluates the function and tells how it went. The output is nil when it failed.
func (c *command) evaluate(ctx context.Context, f *evalFlags, list []byte, resources int) ([]byte, renderstatus.Report, error) {
	ctx, cancel := f.runner.limit(ctx)
	defer cancel()
	evaluator, disconnect, err := c.connect(ctx, f.runner)
	if err != nil {
		return nil, renderstatus.NewUnreached(err), err
	}
	defer disconnect()
	ref, err := image.ForFunction(f.image, f.tag, f.runner.imagePrefix)
	if err != nil {
		return nil, renderstatus.NewUnreached(err), err
	}
	record := renderstatus.Function{Package: ".", Result: renderstatus.Result{Image: ref}}
	display := c.display()
	display(&render.FunctionStarted{Function: record, Resources: resources})
	begin := time.Now()
	resp, err := evaluator.Evaluate(ctx, evaluation.Request{Image: ref, ResourceList: list})
	record.Duration = renderstatus.Duration(time.Since(begin))
	switch {
	case err != nil:
		record.SetFailure(err.Error())
	case resp.Report.GetFailure() != nil:
		err = &render.FunctionError{Function: ref, Report: resp.Report}
		fallthrough
	default:
		record.SetReport(resp.Report)
	}
	display(&render.FunctionFinished{Function: record, Report: resp.Report, Err: err})
	return resp.ResourceList, renderstatus.NewReport([]renderstatus.Function{record}, err), err
}

// writeList writes the output of a function to where it goes.
func (c *command) writeList(list []byte, output string) error {
	if output == "" || output == outputStdout {
		_, err := c.Out.Write(list)
		return err
	}
	nodes, err := (&kio.ByteReader{Reader: bytes.NewReader(list), OmitReaderAnnotations: true}).Read()
	if err == nil {
		err = checkShape(nodes)
	}
	if err != nil {
		return fmt.Errorf("read the output: %w", err)
	}
	for i, n := range nodes {
		// What an anchor of another resource stands for must be told here.
		own, err := resource.OwnAnchors(n.YNode())
		if err != nil {
			return fmt.Errorf("read the output: resource %d: %w", i, err)
		}
		nodes[i] = yaml.NewRNode(own)
	}
	if output == outputUnwrap {
		return packages.WriteDocuments(c.Out, nodes)
	}
	for _, n := range nodes {
		if err := resource.SetDefaultPath(n); err != nil {
			return err
		}
	}
	empty, err := packages.NewMemory(nil)
	if err != nil {
		return err
	}
	tree, err := packages.Open(empty)
	if err != nil {
		return err
	}
	files, err := tree.Output(nodes)
	if err != nil {
		return err
	}
	return writeFiles(output, files.Files)
}
