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
		t.Errorf("Run = %q, %v; want the standard output alone", out, err)
	}
}

func TestErrorHasProgramAndEndOfOutput(t *testing.T) {
	t.Parallel()
	_, err := command.Run(t.Context(), "sh", "-c", "yes | head -c 100000; echo the reason >&2; exit 3", "a", "b")
	if err == nil {
		t.Fatal("no error for exit code 3")
	}
	for _, want := range []string{"sh -c yes", "exit status 3", "the reason"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q", want)
		}
	}
	if len(err.Error()) > 3000 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
}
