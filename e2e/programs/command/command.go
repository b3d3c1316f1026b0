// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package command runs the programs that make a cluster and look after it.
package command

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// tail is how much of what a failed program wrote its error shows, in bytes.
const tail = 2000

// Run runs a program and returns what it wrote to its standard output. See Output for errors.
func Run(ctx context.Context, name string, args ...string) (string, error) {
	return Output(exec.CommandContext(ctx, name, args...))
}

// Output runs a program and returns what it wrote to its standard output, unless that has been led elsewhere. The error
// says which program failed, and the end of what it wrote. Programs run this way write little.
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

// title is a command line that is short enough for an error: the program and its first two arguments.
func title(args []string) string {
	short := append([]string{filepath.Base(args[0])}, args[1:min(len(args), 3)]...)
	if len(args) > len(short) {
		short = append(short, "…")
	}
	return strings.Join(short, " ")
}
