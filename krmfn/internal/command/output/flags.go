// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package output says where the output of a render or an evaluation goes, writes it there, and reports how it went.
package output

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// The values of --output that are no directory.
const (
	Stdout = "stdout"
	unwrap = "unwrap"
)

// The values of --format; json is one of --output, too.
const (
	formatText = "text"
	formatJSON = "json"
)

// Flags say where the output goes.
type Flags struct {
	// Target is Stdout, unwrap, or a directory that does not exist yet; empty means in place.
	Target string
	// DryRun writes nothing, and shows what would change.
	DryRun bool
	// ResultsDir is where the results of all functions go; empty means nowhere.
	ResultsDir string

	format string
}

// AddFlags adds the flags. inPlace says in the help where the output goes by default.
func AddFlags(flags *pflag.FlagSet, inPlace string) *Flags {
	f := &Flags{}
	flags.StringVarP(&f.Target, "output", "o", "", "where the output goes; by default "+inPlace+`: a directory that does not exist yet; "stdout", as a ResourceList; "unwrap", as documents on stdout; or "json", for --format json`)
	flags.StringVar(&f.format, "format", formatText, "what is reported: text, or json for one JSON document on stdout")
	flags.BoolVar(&f.DryRun, "dry-run", false, "write nothing, show what would change")
	flags.StringVar(&f.ResultsDir, "results-dir", "", "directory to write the results of all functions to, as results.yaml")
	return f
}

// AddFormatFlag adds --output to a command that only reports. json returns whether it asks for JSON.
func AddFormatFlag(flags *pflag.FlagSet) (json func() (bool, error)) {
	format := flags.StringP("output", "o", formatText, "text, or json for one JSON document")
	return func() (bool, error) { return isJSON("output", *format) }
}

func isJSON(flag, format string) (bool, error) {
	if format != formatText && format != formatJSON {
		return false, failure.Usage(fmt.Errorf("--%s is %q, want text or json", flag, format))
	}
	return format == formatJSON, nil
}

// Validate checks the flags, and that the directory of the output can be made. Errors are failure.Usage.
func (f *Flags) Validate() error {
	if f.Target == formatJSON {
		f.Target, f.format = "", formatJSON
	}
	json, err := isJSON("format", f.format)
	switch {
	case err != nil:
		return err
	case f.toStdout() && json:
		return failure.Usage(fmt.Errorf("--output=%s and --format=json both want stdout: leave one out", f.Target))
	case f.Target != "" && f.DryRun:
		return failure.Usage(errors.New("--dry-run is about changes in place: leave out --output"))
	case f.Target == "" || f.toStdout():
		return nil
	}
	switch _, err := os.Lstat(f.Target); {
	case err == nil:
		return failure.Usage(fmt.Errorf("directory %q already exists, please delete the directory and retry", f.Target))
	case !errors.Is(err, os.ErrNotExist):
		return failure.Usage(err)
	}
	return nil
}

// MakeResultsDir makes --results-dir, before any work is done.
func (f *Flags) MakeResultsDir() error {
	if f.ResultsDir == "" {
		return nil
	}
	if err := os.MkdirAll(f.ResultsDir, 0o755); err != nil {
		return failure.Usage(fmt.Errorf("cannot read or create results dir %q: %w", f.ResultsDir, err))
	}
	return nil
}

func (f *Flags) json() bool     { return f.format == formatJSON }
func (f *Flags) toStdout() bool { return f.Target == Stdout || f.Target == unwrap }

// inPlace tells whether what is read is changed.
func (f *Flags) inPlace() bool { return f.Target == "" && !f.DryRun }
