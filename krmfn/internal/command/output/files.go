// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlprint"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// resultsFile is the name of the file with results, in --results-dir.
const resultsFile = "results.yaml"

// ResultsFile returns the file that the results of all functions are written to; "" for none.
func (f *Flags) ResultsFile() string {
	if f.ResultsDir == "" {
		return ""
	}
	return filepath.Join(f.ResultsDir, resultsFile)
}

// OpenDir opens the directory that an argument names, which is read, and in place written to. Errors are failure.Usage.
func OpenDir(p *program.Program, dir string) (*packages.Dir, error) {
	if dir == "" {
		return nil, failure.Usage(errors.New("the directory name is empty: name a directory, or leave it out to use the current one"))
	}
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, failure.Usage(err)
	}
	if target != filepath.Clean(dir) {
		p.Note("[WARN] resolved symlink %q to %q, please note that the symlinks within the package are ignored", dir, target)
	}
	info, err := os.Stat(target)
	if err != nil {
		return nil, failure.Usage(err)
	}
	if !info.IsDir() {
		return nil, failure.Usage(fmt.Errorf("%s is not a directory", dir))
	}
	source, err := packages.OpenDir(target)
	if err != nil {
		return nil, failure.Usage(fmt.Errorf("%s cannot be opened: %w", dir, err))
	}
	return source, nil
}

// Lock keeps others from a directory that is changed in place, before functions run for nothing; see packages.Dir. writes is
// whether something is written whatever the functions do, so that it is an error that nothing can be.
func (f *Flags) Lock(dir *packages.Dir, writes bool) error {
	if !f.inPlace() {
		return nil
	}
	err := dir.Lock()
	if err == nil && writes {
		err = dir.CheckWritable()
	}
	return failure.Usage(err)
}

// writeFiles writes files to a directory that it makes. With an error, no directory is left.
func writeFiles(dir string, files []packages.File) (err error) {
	var made []string
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); !errors.Is(err, os.ErrNotExist) {
			break
		}
		made = append(made, d)
	}
	defer func() {
		for i := 0; err != nil && i < len(made); i++ {
			_ = os.Remove(made[i]) // One that others use by now is not empty, and stays.
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	target, err := packages.OpenDir(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	changes := make([]packages.Change, 0, len(files))
	for _, f := range files {
		changes = append(changes, packages.Change{Path: f.Path, After: f.Content})
	}
	return target.Apply(changes)
}

// writeResults writes the results of all functions as kpt does, and says where. apart sets that line apart from the lines of
// a function.
func (o *Output) writeResults(r renderstatus.Report, apart bool) error {
	if o.ResultsDir == "" || r.Result == nil {
		return nil
	}
	file := o.ResultsFile()
	if err := saveResults(file, r.Result); err != nil {
		return fmt.Errorf("failed to save function results: %w", err)
	}
	if apart {
		o.Program.Note("")
	}
	o.Program.Note("For complete results, see %s", file)
	return nil
}

func saveResults(file string, results *renderstatus.ResultList) error {
	node, err := yamlprint.Value(results)
	if err != nil {
		return err
	}
	content, err := yamlprint.Print(node, yaml.WideSequenceStyle)
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}
