// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"path/filepath"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render/packages"
)

// writeNames writes the names of the files that would change, one a line, below the directory as the user has named it.
func (o *Output) writeNames(changes []packages.Change) error {
	for _, c := range changes {
		name := filepath.Join(o.Named, filepath.FromSlash(c.Path))
		if _, err := fmt.Fprintln(o.Program.Out, terminal.Safe(name)); err != nil {
			return err
		}
	}
	return nil
}

// checked returns the error that a check ends with: nil where nothing would change.
func (o *Output) checked(w Work) error {
	if !o.Check || len(w.Output.Changes) == 0 {
		return nil
	}
	return failure.Change(fmt.Errorf("%s is not up to date: a render would change %s: run krmfn render %[1]s",
		o.Named, terminal.Count(len(w.Output.Changes), "file")))
}
