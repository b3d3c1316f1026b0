// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"

	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/resource"
)

// evalList evaluates a function over resources from files or the standard input. Its output goes to the standard output,
// unless it is asked for elsewhere.
func (c *command) evalList(ctx context.Context, f *evalFlags, inputs []string, config *functionConfig) error {
	resources, node, err := c.readList(inputs, config)
	if err != nil {
		return err
	}
	w := c.evaluating(ctx, f, node, resources)
	if w.err == nil {
		w.err = w.place()
	}
	output := *f.output
	if output.output == "" {
		output.output = outputStdout
	}
	return c.finish(ctx, nil, w, &output)
}

// place gives all resources a place in a directory that is still empty.
func (w *work) place() error {
	for _, r := range w.Resources {
		if err := resource.SetDefaultPath(r); err != nil {
			return err
		}
	}
	empty, err := packages.NewMemory(nil)
	if err != nil {
		return err
	}
	if w.Tree, err = packages.Open(empty); err != nil {
		return err
	}
	w.Output, err = w.Tree.Output(w.Resources)
	return err
}

// list returns the resources as one ResourceList; "" where there are none for want of success.
func (w *work) list() (string, error) {
	if w.Tree == nil {
		return "", nil
	}
	var b bytes.Buffer
	err := w.Tree.WriteResourceList(&b, w.Resources)
	return b.String(), err
}
