// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// The values of --output that are no directory.
const (
	outputStdout = "stdout"
	outputUnwrap = "unwrap"
	outputJSON   = "json"
)

// The values of --format.
const (
	formatText = "text"
	formatJSON = "json"
)

// outputFlags say where the output goes.
type outputFlags struct {
	output     string
	format     string
	dryRun     bool
	resultsDir string
}

func addOutputFlags(flags *pflag.FlagSet, inPlace string) *outputFlags {
	f := &outputFlags{}
	flags.StringVarP(&f.output, "output", "o", "", "where the output goes; by default "+inPlace+`: a directory that does not exist yet; "stdout", as a ResourceList; "unwrap", as documents on stdout; or "json", for --format json`)
	flags.StringVar(&f.format, "format", formatText, "what is reported: text, or json for one JSON document on stdout")
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing, show what would change")
	flags.StringVar(&f.resultsDir, "results-dir", "", "directory to write the results of all functions to, as results.yaml")
	return f
}

// validate checks the flags, and that the directory of the output can be made.
func (f *outputFlags) validate() error {
	if f.output == outputJSON {
		f.output, f.format = "", formatJSON
	}
	switch {
	case f.format != formatText && f.format != formatJSON:
		return &usageError{fmt.Errorf("--format is %q, want text or json", f.format)}
	case f.toStdout() && f.json():
		return &usageError{fmt.Errorf("--output=%s and --format=json both want stdout: leave one out", f.output)}
	case f.output != "" && f.dryRun:
		return &usageError{errors.New("--dry-run is about changes in place: leave out --output")}
	case f.output == "" || f.toStdout():
		return nil
	}
	switch _, err := os.Lstat(f.output); {
	case err == nil:
		return &usageError{fmt.Errorf("directory %q already exists, please delete the directory and retry", f.output)}
	case !errors.Is(err, os.ErrNotExist):
		return &usageError{err}
	}
	return nil
}

func (f *outputFlags) json() bool     { return f.format == formatJSON }
func (f *outputFlags) toStdout() bool { return f.output == outputStdout || f.output == outputUnwrap }

// inPlace tells whether what is read is changed.
func (f *outputFlags) inPlace() bool { return f.output == "" && !f.dryRun }

// writeFiles makes a directory with files.
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

// resultsFile is the name of the file with results, in --results-dir.
const resultsFile = "results.yaml"

// writeResults writes the results of all functions as kpt does, and says where. The line is set apart from the function's
// own where there is none of packages between them.
func (c *command) writeResults(dir string, r renderstatus.Report, apart bool) error {
	if dir == "" || r.Result == nil {
		return nil
	}
	content, err := yaml.MarshalWithOptions(r.Result, &yaml.EncoderOptions{SeqIndent: yaml.WideSequenceStyle})
	if err != nil {
		return fmt.Errorf("failed to save function results: %w", err)
	}
	file := filepath.Join(dir, resultsFile)
	if err := os.WriteFile(file, content, 0o644); err != nil {
		return fmt.Errorf("failed to save function results: %w", err)
	}
	if apart {
		c.note("")
	}
	c.note("For complete results, see %s", file)
	return nil
}

// makeResultsDir makes --results-dir, before any work is done.
func makeResultsDir(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &usageError{fmt.Errorf("cannot read or create results dir %q: %w", dir, err)}
	}
	return nil
}
