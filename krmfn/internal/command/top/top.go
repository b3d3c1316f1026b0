// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package top is the command krmfn top.
package top

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/krmfn/internal/report"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

// leastInterval spares the function runner.
const leastInterval = 100 * time.Millisecond

// redraw moves the cursor of a terminal to its first line and clears all that follows.
const redraw = "\x1b[H\x1b[J"

// Command returns the command, for a program.
func Command(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the function pods and calls of a function runner",
		Long: `Show the functions of a function runner that have pods: the number of pods that are
starting, ready, unreachable and ending; running and waiting calls; the median duration
of recent calls; and the reason why the last pod failed to start. The calls are those of
the replica that answers; all replicas see the same pods.

On a terminal, the table is updated after each --interval, until you press Ctrl-C.
Otherwise, and with --format json, it is printed once.

` + failure.Help,
		Example: `  krmfn top --runner localhost:9445
  krmfn top --runner kube:porch-system/function-runner --format json`,
		Args: cobra.NoArgs,
	}
	flags := runner.AddAddressFlags(cmd.Flags(), "address of the function runner, "+runner.AddressForm+" (also --function-runner)")
	wantsJSON := output.AddFormatFlag(cmd.Flags())
	interval := cmd.Flags().Duration("interval", 2*time.Second, "time between two updates on a terminal")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		json, err := wantsJSON()
		switch {
		case err != nil:
			return err
		case flags.Address == "":
			return failure.Usage(errors.New("--runner is missing: name the function runner to show"))
		case *interval < leastInterval:
			return failure.Usage(fmt.Errorf("--interval is %v, want at least %v", *interval, leastInterval))
		}
		if err := flags.Validate(); err != nil {
			return err
		}
		ctx, cancel := flags.Limit(cmd.Context())
		defer cancel()
		return run(ctx, p, flags, *interval, json)
	}
	return cmd
}

func run(ctx context.Context, p *program.Program, flags *runner.Flags, interval time.Duration, json bool) error {
	runtime, disconnect, err := runner.ConnectTo(ctx, p, flags)
	if err != nil {
		return err
	}
	defer disconnect()
	live := p.Out.IsTerminal() && !json
	for {
		listed, err := runtime.ListFunctions(ctx)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return failure.Runner(fmt.Errorf("the function runner at %s supports only Porch's calls, which do not list function pods: upgrade it", flags.Address))
		case err != nil:
			return err
		case json:
			return report.WriteJSON(p.Out, document{rowsOf(listed)})
		}
		if live {
			fmt.Fprint(p.Out, redraw)
		}
		write(p.Out, rowsOf(listed))
		if !live {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(interval):
		}
	}
}

// rowsOf returns the functions that have pods, in the order of the list.
func rowsOf(listed []*evaluatorv1.Function) []row {
	rows := []row{}
	for _, f := range listed {
		if f.GetPods() != nil {
			rows = append(rows, newRow(f))
		}
	}
	return rows
}
