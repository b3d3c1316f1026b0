// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
)

// functionRunner checks whether a function runner can be used.
type functionRunner struct {
	program *program.Program
	flags   *runner.Flags
}

func (r functionRunner) look(ctx context.Context) finding {
	f := finding{Check: "runner", Status: works}
	remote, disconnect, err := runner.ConnectTo(ctx, r.program, r.flags)
	if err != nil {
		f.Status, f.Found = fails, reason(ctx, err)
		return f
	}
	defer disconnect()
	functions, err := remote.ListFunctions(ctx)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		f.Found = fmt.Sprintf("the function runner at %s serves Porch's contract", r.flags.Address)
	case err != nil:
		f.Status, f.Found = fails, reason(ctx, err)
	default:
		f.Found = fmt.Sprintf("the function runner at %s serves, and knows %d functions", r.flags.Address, len(functions))
	}
	return f
}
