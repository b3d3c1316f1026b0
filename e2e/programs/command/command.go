// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package command runs external programs, such as docker and make.
package command

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// tail is the maximum length in bytes of a failed program's output in the error.
const tail = 2000

// Run runs a program and returns its standard output. See Output for errors.
func Run(ctx context.Context, name string, args ...string) (string, error) {
	return Output(exec.CommandContext(ctx, name, args...))
}

// Output runs a program and returns its standard output, unless cmd.Stdout is set. The error names the program and contains the end of its
// output. Output buffers the output in memory, so it is for programs that write little.
func Output(cmd *exec.Cmd) (string, error) {
	var out, diagnostics bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &diagnostics
	}
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(out.String() + "\n" + diagnostics.String())
		return "", fmt.Errorf("%s: %w: %s", title(cmd.Args), err, text[max(0, len(text)-tail):])
	}
	return out.String(), nil
}

// title returns a command line shortened for errors: the program and its first two arguments.
func title(args []string) string {
	short := append([]string{filepath.Base(args[0])}, args[1:min(len(args), 3)]...)
	if len(args) > len(short) {
		short = append(short, "…")
	}
	return strings.Join(short, " ")
}
