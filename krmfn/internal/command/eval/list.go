// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/services/render/packages"
)

// evalList evaluates a function over resources from files or the standard input. Its output goes to the standard output,
// unless --output names another place.
func (c *command) evalList(ctx context.Context, inputs []string, config *functionConfig) error {
	resources, node, err := c.readList(inputs, config)
	if err != nil {
		return err
	}
	out := output.Output{Flags: *c.output, Program: c.Program}
	out.Target = cmp.Or(out.Target, output.Stdout)
	w := c.evaluate(ctx, node, resources, true)
	if w.Err == nil && !out.ToStdout() {
		w.Err = placeInEmpty(&w)
	}
	return out.Finish(ctx, w)
}

// placeInEmpty gives all resources a place in a directory that is still empty.
func placeInEmpty(w *output.Work) error {
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

func (c *command) readList(inputs []string, config *functionConfig) (resources []*yaml.RNode, node *yaml.RNode, err error) {
	node = config.node
	for _, name := range inputs {
		nodes, own, err := c.readInput(name)
		if err != nil {
			return nil, nil, err
		}
		if own != nil && !config.given {
			node = own
		}
		resources = append(resources, nodes...)
	}
	return resources, node, nil
}

// readInput returns the resources of an input, and the functionConfig if it is a ResourceList that has one.
func (c *command) readInput(name string) (nodes []*yaml.RNode, config *yaml.RNode, err error) {
	title, read := name, func() ([]byte, error) { return os.ReadFile(name) }
	if name == stdin {
		title, read = "the standard input", func() ([]byte, error) { return io.ReadAll(c.In) }
	}
	content, err := read()
	if err != nil {
		return nil, nil, failure.Usage(err)
	}
	reader := &kio.ByteReader{Reader: bytes.NewReader(content), PreserveSeqIndent: true, WrapBareSeqNode: true}
	if err := packages.CheckEnds(content); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", title, err)
	}
	if nodes, err = reader.Read(); err != nil {
		// What cannot be annotated is named in one line.
		if plain, plainErr := (&kio.ByteReader{Reader: bytes.NewReader(content), OmitReaderAnnotations: true}).Read(); plainErr == nil {
			err = cmp.Or(checkShape(plain), err)
		}
	} else {
		err = checkShape(nodes)
	}
	if err == nil && name != stdin {
		err = place(nodes, name)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", title, err)
	}
	if len(nodes) == 0 && reader.WrappingKind == "" {
		return nil, nil, failure.Usage(fmt.Errorf("there are no resources in %s", title))
	}
	if reader.FunctionConfig != nil && !yamlnode.Finite(reader.FunctionConfig.YNode()) {
		return nil, nil, fmt.Errorf("%s: the functionConfig has an anchor that contains itself", title)
	}
	return nodes, reader.FunctionConfig, nil
}

// checkShape refuses nodes with endless anchors, and nodes whose metadata cannot have annotations. What is left can be printed.
func checkShape(nodes []*yaml.RNode) error {
	for i, n := range nodes {
		if !yamlnode.Finite(n.YNode()) {
			return fmt.Errorf("resource %d has an anchor that contains itself", i)
		}
		yamlnode.QuoteFolded(n.Document())
		// A copy gets the annotation, because a node without annotations must remain without.
		if err := resource.SetAnnotation(n.Copy(), resource.IndexAnnotation, "0"); err != nil {
			return fmt.Errorf("resource %d: %w", i, err)
		}
	}
	return nil
}

// place tells resources which file they come from, so that results can name it.
func place(nodes []*yaml.RNode, file string) error {
	if !filepath.IsLocal(file) {
		file = filepath.Base(file)
	}
	file = filepath.ToSlash(file)
	errs := make([]error, 0, 4*len(nodes))
	for i, n := range nodes {
		index := strconv.Itoa(i)
		errs = append(errs,
			resource.SetAnnotation(n, resource.FormerIndexAnnotation, index),
			resource.SetAnnotation(n, resource.FormerPathAnnotation, file),
			resource.SetAnnotation(n, resource.IndexAnnotation, index),
			resource.SetAnnotation(n, resource.PathAnnotation, file))
	}
	return errors.Join(errs...)
}
