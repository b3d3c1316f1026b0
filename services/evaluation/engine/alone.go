// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/krmfn/krmfn/services/evaluation/process"
)

// The exit codes of an engine that could not start a container, or not the program in it; a function may have the same.
const (
	exitEngine   = 125
	exitNotFound = 127
)

// runAlone runs a call in a container of its own.
func (e *Evaluator) runAlone(ctx context.Context, i *image, stdin []byte, limit int64) (process.Outcome, error) {
	name := containerName()
	argv := append([]string{e.client.Program}, e.options.runArguments(name, e.limits(ctx))...)
	outcome, err := e.processes.Run(ctx, process.Command{Argv: append(argv, i.ref), Env: e.client.Environ, MaxStdout: limit}, stdin)
	if err != nil {
		// The engine's command is gone, and not what it started.
		e.client.remove(ctx, name)
		if errors.As(err, new(*process.StartError)) {
			err = &ContainerError{Engine: e.client.Name, Image: i.ref, Err: err}
		}
		return outcome, err
	}
	var warnings []string
	warnings, outcome.Stderr = cutWarnings(outcome.Stderr)
	e.warnings(warnings)
	if code := outcome.ExitCode; code >= exitEngine && code <= exitNotFound && len(outcome.Stdout) == 0 && byEngine(outcome.Stderr) {
		words := cmp.Or(lastWords(outcome.Stderr), fmt.Sprintf("exit code %d", code))
		return outcome, &ContainerError{Engine: e.client.Name, Image: i.ref, Err: errors.New(words)}
	}
	return outcome, nil
}

// byEngine tells whether an error is an engine's own, by how those of the three begin.
func byEngine(stderr []byte) bool {
	for _, prefix := range []string{"docker: ", "Error: ", "time=\""} {
		if bytes.HasPrefix(stderr, []byte(prefix)) {
			return true
		}
	}
	return len(stderr) == 0
}

// warningPrefixes are how the lines begin that engines write to the standard error of a container before it starts.
var warningPrefixes = [][]byte{
	[]byte("WARNING: The requested image's platform"), []byte("WARNING: image platform"), []byte("WARNING: Your kernel does not support"),
}

// isWarning reports whether a line is a warning of an engine. nerdctl logs that it discards limits.
func isWarning(line []byte) bool {
	return slices.ContainsFunc(warningPrefixes, func(prefix []byte) bool { return bytes.HasPrefix(line, prefix) }) ||
		bytes.HasPrefix(line, []byte(`time="`)) && bytes.Contains(line, []byte(`level=warning msg="cgroup`))
}

// cutWarnings cuts the engine's warnings off the beginning of a function's standard error.
func cutWarnings(stderr []byte) (warnings []string, rest []byte) {
	for {
		line, after, _ := bytes.Cut(stderr, []byte("\n"))
		if !isWarning(line) {
			return warnings, stderr
		}
		warnings, stderr = append(warnings, string(bytes.TrimSpace(line))), after
	}
}
