// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// resultsFile is the name of the file with results, in --results-dir.
const resultsFile = "results.yaml"

// OpenDir opens the directory that an argument names, which is read, and in place written to. Errors are failure.Usage.
func OpenDir(p *program.Program, dir string) (*packages.Dir, error) {
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

func writeFiles(dir string, files []packages.File) (err error) {
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
	file := filepath.Join(o.ResultsDir, resultsFile)
	content, err := yaml.MarshalWithOptions(r.Result, &yaml.EncoderOptions{SeqIndent: yaml.WideSequenceStyle})
	if err == nil {
		err = os.WriteFile(file, content, 0o644)
	}
	if err != nil {
		return fmt.Errorf("failed to save function results: %w", err)
	}
	if apart {
		o.Program.Note("")
	}
	o.Program.Note("For complete results, see %s", file)
	return nil
}
