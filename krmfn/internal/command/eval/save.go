// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"fmt"
	"path/filepath"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlprint"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/packages"
)

// saveFunction adds a function to the pipeline of a directory's Kptfile, or replaces the one of the same image or command
// line. A directory without a Kptfile that can be read is no error, as in kpt.
func (c *command) saveFunction(dir *packages.Dir, config *functionConfig) error {
	tree, err := packages.Open(dir)
	if err != nil {
		return err
	}
	pkg, err := tree.Load(".")
	if err != nil {
		c.Note("function not added: Kptfile not exists")
		return nil
	}
	saved, title, err := c.saved(dir.Location(), config)
	if err != nil {
		return err
	}
	done := "Added"
	output, err := tree.EditKptfile(packages.Output{}, pkg, func(kf *yaml.RNode) error {
		list, err := kf.Pipe(yaml.LookupCreate(yaml.SequenceNode, "pipeline", c.functionType+"s"))
		if err != nil {
			return err
		}
		entry, err := yamlprint.Value(saved)
		if err != nil {
			return err
		}
		functions := list.YNode()
		functions.Style &^= yaml.FlowStyle
		at := slices.IndexFunc(functions.Content, func(n *yaml.Node) bool { return c.isSame(n, title) })
		if at < 0 {
			functions.Content = append(functions.Content, entry)
			return nil
		}
		done, functions.Content[at] = "Updated", entry
		return nil
	})
	if err != nil {
		return fmt.Errorf("add the function to the Kptfile: %w", err)
	}
	if err := dir.Apply(output.Changes); err != nil {
		return &failure.WriteError{Err: fmt.Errorf("add the function to the Kptfile: %w", err), Partly: true}
	}
	c.Note("%s %q as %s in the Kptfile.", done, title, c.functionType)
	return nil
}

// saved returns the function as it stands in a Kptfile, and what it is called.
func (f *flags) saved(location string, config *functionConfig) (fn kptfilev1.Function, title string, err error) {
	fn, title = f.function(), f.exec
	if f.image != "" {
		if title, err = reference.Resolve(f.image, f.runner.ImagePrefix); err != nil {
			return fn, "", err
		}
		fn.Image = title
	}
	if config.file == "" {
		fn.ConfigMap = config.node.GetDataMap()
		return fn, title, nil
	}
	inside, ok := config.inside(location)
	if !ok {
		return fn, "", notUnder(location)
	}
	fn.ConfigPath = inside
	return fn, title, nil
}

// isSame reports whether an entry of a Kptfile's pipeline has the given title.
func (f *flags) isSame(entry *yaml.Node, title string) bool {
	var fn kptfilev1.Function
	if err := entry.Decode(&fn); err != nil {
		return false
	}
	if f.image == "" {
		return fn.Exec == title
	}
	ref, err := reference.Resolve(fn.Image, f.runner.ImagePrefix)
	return err == nil && ref == title
}

func notUnder(location string) error {
	return fmt.Errorf("--fn-config must be under %s if saving functions to Kptfile (--save=true)", filepath.FromSlash(location))
}
