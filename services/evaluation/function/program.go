// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/services/evaluation/workerprotocol"
)

// Program is what a function has of the process it is served by: nothing, where it is evaluated inside another program.
type Program struct {
	Stderr  io.Writer // what a script prints; never nil
	Environ []string  // KEY=value
}

type programKey struct{}

// WithProgram returns the context for a Process that is served by a program.
func WithProgram(ctx context.Context, p Program) context.Context {
	return context.WithValue(ctx, programKey{}, p)
}

// ProgramOf returns the program that serves a function, from the context of its Process.
func ProgramOf(ctx context.Context) Program {
	if p, ok := ctx.Value(programKey{}).(Program); ok {
		return p
	}
	return Program{Stderr: io.Discard}
}

// Main serves f as a program: it reads a ResourceList from stdin and writes the one that f makes of it to stdout. On
// failure it does so too, where there is one, and writes "failed to evaluate function: " and the error to stderr. It
// returns the exit code of the process: 0, or 1 when the function or the reading and writing around it failed.
//
// args are the arguments behind the program's name. "--help" prints what the function is and takes; "--worker" has a function
// that agrees answer many calls, as [workerprotocol] says. No other is known.
func Main(f Function, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		fmt.Fprint(stdout, help(f))
		return 0
	}
	var err error
	switch {
	case f.Traits.Worker && slices.Equal(args, []string{workerprotocol.Argument}):
		err = manyTimes(f, stdin, stdout, stderr)
	case len(args) > 0:
		err = fmt.Errorf("unexpected argument %q: the input is a ResourceList on stdin", args[0])
	default:
		err = once(f, stdin, stdout, stderr)
	}
	if err != nil {
		ReportFailure(stderr, err)
		return 1
	}
	return 0
}

// failurePrefix is what Main writes before an error.
const failurePrefix = "failed to evaluate function: "

// ReportFailure writes to the standard error of a function why it failed.
func ReportFailure(stderr io.Writer, err error) {
	fmt.Fprintf(stderr, failurePrefix+"%v", err)
}

// ReportedFailure returns the error that ReportFailure wrote to the end of a standard error, with the same text; nil if there is none.
// It is a [PanicError] if the function panicked.
func ReportedFailure(stderr []byte) error {
	at := bytes.LastIndex(append([]byte("\n"), stderr...), []byte("\n"+failurePrefix))
	if at < 0 {
		return nil
	}
	text := string(stderr[at+len(failurePrefix):])
	if value, panicked := strings.CutPrefix(text, panicPrefix); panicked {
		return &PanicError{value}
	}
	return errors.New(text)
}

// once answers the one call of a process.
func once(f Function, stdin io.Reader, stdout, stderr io.Writer) error {
	in, err := io.ReadAll(stdin)
	if err != nil {
		return fmt.Errorf("unable to read from stdin: %w", err)
	}
	out, err := f.alone(in, stderr)
	_, outErr := stdout.Write(out)
	return errors.Join(err, outErr)
}

// alone evaluates f in a process that does nothing else.
func (f Function) alone(in []byte, stderr io.Writer) ([]byte, error) {
	ctx := context.Background() //nolint:forbidigo // a process has no caller's context: whoever started it ends it
	return Run(WithProgram(ctx, Program{Stderr: stderr, Environ: os.Environ()}), f, in)
}

// help describes a function for its user.
func help(f Function) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s %s\n\n", f.Name, f.Version, f.Summary)
	text.WriteString("Reads a ResourceList from stdin and writes one to stdout.\n")
	if f.Config != "" {
		text.WriteString("\nfunctionConfig, one of:\n")
		for line := range strings.Lines(f.Config) {
			text.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return text.String()
}
