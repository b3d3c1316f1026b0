// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/e2e/programs/command"
)

func TestRunReturnsStandardOutput(t *testing.T) {
	t.Parallel()
	out, err := command.Run(t.Context(), "sh", "-c", "echo text; echo noise >&2")
	if err != nil || out != "text\n" {
		t.Errorf("Run() = %q, %v, want only standard output", out, err)
	}
}

func TestErrorHasProgramAndEndOfOutput(t *testing.T) {
	t.Parallel()
	_, err := command.Run(t.Context(), "sh", "-c", "yes | head -c 100000; echo the reason >&2; exit 3", "a", "b")
	if err == nil {
		t.Fatal("Run() of a program with exit code 3 succeeded, want an error")
	}
	for _, want := range []string{"sh -c yes", "exit status 3", "the reason"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Run() error lacks %q", want)
		}
	}
	if len(err.Error()) > 3000 {
		t.Errorf("length of the error = %d, want at most 3000", len(err.Error()))
	}
}
