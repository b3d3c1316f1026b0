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

	"github.com/krmfn/krmfn/internal/process"
)

// Exit codes of an engine that could not start the container or its program. A function may use the same codes.
const (
	exitEngine   = 125
	exitNotFound = 127
)

// runInNewContainer runs a call in a new container.
func (e *Evaluator) runInNewContainer(ctx context.Context, i *image, stdin []byte, limit int64) (process.Outcome, error) {
	name := containerName()
	argv := append([]string{e.client.Program}, e.options.runArguments(name, e.limits(ctx))...)
	outcome, err := e.processes.Run(ctx, process.Command{Argv: append(argv, i.ref), Env: e.client.Environ, MaxStdout: limit}, stdin)
	if err != nil {
		// The engine's client was killed, but the container may still run.
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
		words := cmp.Or(lastMessage(outcome.Stderr), fmt.Sprintf("exit code %d", code))
		return outcome, &ContainerError{Engine: e.client.Name, Image: i.ref, Err: errors.New(words)}
	}
	return outcome, nil
}

// byEngine reports whether standard error comes from the engine instead of the function. It knows how errors of the three engines
// begin.
func byEngine(stderr []byte) bool {
	for _, prefix := range []string{"docker: ", "Error: ", "time=\""} {
		if bytes.HasPrefix(stderr, []byte(prefix)) {
			return true
		}
	}
	return len(stderr) == 0
}

// warningPrefixes are the beginnings of warnings that engines write to standard error before they start a container.
var warningPrefixes = [][]byte{
	[]byte("WARNING: The requested image's platform"), []byte("WARNING: image platform"), []byte("WARNING: Your kernel does not support"),
}

// isWarning reports whether a line is a warning of an engine. nerdctl logs a warning when it discards limits.
func isWarning(line []byte) bool {
	return slices.ContainsFunc(warningPrefixes, func(prefix []byte) bool { return bytes.HasPrefix(line, prefix) }) ||
		bytes.HasPrefix(line, []byte(`time="`)) && bytes.Contains(line, []byte(`level=warning msg="cgroup`))
}

// cutWarnings separates the engine's warnings from the function's standard error. Warnings come first.
func cutWarnings(stderr []byte) (warnings []string, rest []byte) {
	for {
		line, after, _ := bytes.Cut(stderr, []byte("\n"))
		if !isWarning(line) {
			return warnings, stderr
		}
		warnings, stderr = append(warnings, string(bytes.TrimSpace(line))), after
	}
}
