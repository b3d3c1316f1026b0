// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package programtest_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/krmfn/krmfn/internal/process/programtest"
)

// Executables can run while other tests write executables and start processes.
func TestWrite(t *testing.T) {
	t.Parallel()
	for caller := range 8 {
		t.Run(strconv.Itoa(caller), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for number := range 100 {
				program := filepath.Join(dir, strconv.Itoa(number))
				programtest.Write(t, program, "#!/bin/sh\nexit 0\n")
				if err := exec.CommandContext(t.Context(), program).Run(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
