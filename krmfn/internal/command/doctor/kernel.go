// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/krmfn/internal/sandbox"
)

// kernel checks whether the kernel permits sandboxes, by making one.
type kernel struct{}

func (kernel) look(ctx context.Context) finding {
	processes := process.NewRunner(process.Options{})
	defer processes.Close()
	err := sandbox.Check(ctx, processes)
	if err == nil {
		return finding{Check: "sandbox", Status: works, Found: "images can run without a container engine"}
	}
	f := finding{
		Check: "sandbox", Status: warning, Found: reason(ctx, err), noSandbox: true,
		Remedy: "install a container engine, or name a function runner with --runner",
	}
	if refused, ok := errors.AsType[*sandbox.RefusedError](err); ok {
		f.Found, f.Remedy = refused.Err.Error(), refused.Hint
	}
	return f
}
