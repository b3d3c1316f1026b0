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
	Unwrap = "unwrap"
)

// The values of --format; json is one of --output, too.
const (
	formatText = "text"
	formatJSON = "json"
)

// Targets are the values of --output that are no directory.
func Targets() []string { return []string{Stdout, Unwrap, formatJSON} }

// Formats are the values of --format.
func Formats() []string { return []string{formatText, formatJSON} }

// Flags say where the output goes.
type Flags struct {
	// Target is Stdout, Unwrap, or a directory that does not exist yet; empty means in place.
	Target string
	// DryRun writes nothing, and shows what would change.
	DryRun bool
	// Check writes nothing, names the files that would change, and fails if there are any.
	Check bool
	// AllowDeletion accepts output that would delete a package, or its Kptfile, by accident; see render.Options.
	AllowDeletion bool
	// ResultsDir is where the results of all functions go; empty means nowhere.
	ResultsDir string

	format string
}

// AddFlags adds the flags. inPlace says in the help where the output goes by default.
func AddFlags(flags *pflag.FlagSet, inPlace string) *Flags {
	f := &Flags{}
	flags.StringVarP(&f.Target, "output", "o", "", "where to write the output; the default is "+inPlace+`. Other values: a directory that does not exist yet; "stdout", as a ResourceList; "unwrap", as documents on stdout; or "json", for --format json`)
	flags.StringVar(&f.format, "format", formatText, "report format: text, or json for one JSON document on stdout")
	flags.BoolVar(&f.DryRun, "dry-run", false, "write nothing, and show what would change")
	flags.BoolVar(&f.AllowDeletion, "allow-deletion", false, "accept output without items, which deletes all resources, or without the package's Kptfile")
	flags.StringVar(&f.ResultsDir, "results-dir", "", "directory for results.yaml, which gets the results of all functions")
	return f
}

// AddFormatFlag adds --format to a command that only reports. json returns whether it asks for JSON.
func AddFormatFlag(flags *pflag.FlagSet) (json func() (bool, error)) {
	format := flags.StringP("format", "o", formatText, "report format: text, or json for one JSON document")
	return func() (bool, error) { return isJSON(*format) }
}

func isJSON(format string) (bool, error) {
	if format != formatText && format != formatJSON {
		return false, failure.Usage(fmt.Errorf("--format is %q, want text or json", format))
	}
	return format == formatJSON, nil
}

// Validate checks the flags, and that the directory of the output can be made. Errors are failure.Usage.
func (f *Flags) Validate() error {
	if f.Target == formatJSON {
		f.Target, f.format = "", formatJSON
	}
	json, err := isJSON(f.format)
	switch {
	case err != nil:
		return err
	case f.ToStdout() && json:
		return failure.Usage(fmt.Errorf("--output=%s and --format=json both want stdout: leave one out", f.Target))
	case f.Target != "" && f.Check:
		return failure.Usage(errors.New("--check works only with changes in place: leave out --output"))
	case f.Target != "" && f.DryRun:
		return failure.Usage(errors.New("--dry-run works only with changes in place: leave out --output"))
	case f.Target == "" || f.ToStdout():
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

// JSON reports whether the output is a JSON document.
func (f *Flags) JSON() bool { return f.format == formatJSON }

// ToStdout reports whether the output goes to standard output.
func (f *Flags) ToStdout() bool { return f.Target == Stdout || f.Target == Unwrap }

// Deletes reports whether the output may be empty: a flag permits it, or the input stays as it is.
func (f *Flags) Deletes() bool { return f.AllowDeletion || f.ToStdout() }

// inPlace reports whether the output replaces the input.
func (f *Flags) inPlace() bool { return f.Target == "" && !f.DryRun && !f.Check }
