// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"io"
	"path/filepath"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// RunFunction acts as the curated function that the program was started as, by args[0], and returns its exit code. ok is
// false when the program was not started as a function.
func RunFunction(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	f, ok := functions.Lookup(filepath.Base(args[0]))
	if !ok {
		return 0, false
	}
	return function.Main(f, args[1:], stdin, stdout, stderr), true
}
