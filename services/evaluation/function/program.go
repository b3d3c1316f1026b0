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

	"github.com/krmfn/krmfn/internal/workerprotocol"
)

// Program contains the parts of a process that its function may use. In a function that runs inside another program, it is empty.
type Program struct {
	Stderr  io.Writer // receives the output of scripts; never nil
	Environ []string  // KEY=value
}

type programKey struct{}

// WithProgram returns a context for the Process of a function that runs as a program.
func WithProgram(ctx context.Context, p Program) context.Context {
	return context.WithValue(ctx, programKey{}, p)
}

// ProgramOf returns the Program in the context of a Process.
func ProgramOf(ctx context.Context) Program {
	if p, ok := ctx.Value(programKey{}).(Program); ok {
		return p
	}
	return Program{Stderr: io.Discard}
}

// Main runs f as a program: it reads a ResourceList from stdin and writes the resulting list to stdout. If f fails, it also writes
// "failed to evaluate function: " and the error to stderr. It returns the exit code: 0, or 1 if f, reading or writing failed.
//
// args are the arguments without the program's name. "--help" prints a description. "--worker" answers many calls according to
// [workerprotocol], if f supports it. Other arguments are errors.
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

// failurePrefix precedes the error on standard error.
const failurePrefix = "failed to evaluate function: "

// ReportFailure writes a function's error to its standard error.
func ReportFailure(stderr io.Writer, err error) {
	fmt.Fprintf(stderr, failurePrefix+"%v", err)
}

// ReportedFailure returns the error that ReportFailure wrote at the end of standard error, with the same text, or nil if there is none.
// It is a *[PanicError] if the function panicked.
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

// once evaluates the single call of a process.
func once(f Function, stdin io.Reader, stdout, stderr io.Writer) error {
	in, err := io.ReadAll(stdin)
	if err != nil {
		return fmt.Errorf("unable to read from stdin: %w", err)
	}
	out, err := f.alone(in, stderr)
	_, outErr := stdout.Write(out)
	return errors.Join(err, outErr)
}

// alone evaluates f as the only function of the process.
func (f Function) alone(in []byte, stderr io.Writer) ([]byte, error) {
	ctx := context.Background() //nolint:forbidigo // a process has no caller's context; its parent kills it
	return Run(WithProgram(ctx, Program{Stderr: stderr, Environ: os.Environ()}), f, in)
}

// help returns the output of --help.
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
