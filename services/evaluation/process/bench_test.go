// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"os/exec"
	"testing"
)

// BenchmarkRun compares a run with all its bounds to a bare process.
func BenchmarkRun(b *testing.B) {
	in := bytes.Repeat([]byte("a line of input\n"), 200)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.CommandContext(b.Context(), "/bin/cat")
			cmd.Stdin = bytes.NewReader(in)
			if _, err := cmd.Output(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("runner", func(b *testing.B) {
		r := NewRunner(Options{})
		for b.Loop() {
			if _, err := r.Run(b.Context(), Command{Argv: []string{"/bin/cat"}}, in); err != nil {
				b.Fatal(err)
			}
		}
	})
}
