// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"fmt"
	"io"
	"sync"

	"go.starlark.net/starlark"
)

// maxPrinted is how many bytes a script may print. What goes beyond is dropped.
const maxPrinted = 1 << 20

// scriptOutput takes what a script prints, until it is closed: a script that was left behind must not write to what its
// caller has back in its hands.
type scriptOutput struct {
	mu      sync.Mutex
	writer  io.Writer
	printed int // bytes
}

func newScriptOutput(w io.Writer) *scriptOutput { return &scriptOutput{writer: w} }

func (o *scriptOutput) print(_ *starlark.Thread, message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.printed > maxPrinted {
		return
	}
	if o.printed += len(message) + 1; o.printed > maxPrinted {
		message = fmt.Sprintf("the script prints more than %d bytes, the rest is dropped", maxPrinted)
	}
	_, _ = fmt.Fprintln(o.writer, message) // a script has no use for the error
}

func (o *scriptOutput) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writer = io.Discard
}
