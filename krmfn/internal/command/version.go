// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/services/server/version"
)

// versionDocument is what --output json prints of versions.
type versionDocument struct {
	// Version is the release of krmfn.
	Version string `json:"version"`
	// Go is the release of Go that it was built with, and Platform what it was built for.
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Runner is the function runner that --runner names; absent without.
	Runner *runnerState `json:"runner,omitempty"`
}

// runnerState says whether a function runner can be used.
type runnerState struct {
	// Address is where it should be.
	Address string `json:"address"`
	// Reachable tells whether it serves calls.
	Reachable bool `json:"reachable"`
	// Contract is "krmfn.evaluator.v1", or "evaluator" for runners that know Porch's contract only.
	Contract string `json:"contract,omitempty"`
	// Error is why it cannot be used.
	Error string `json:"error,omitempty"`
}

func (c *command) version() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Tell the version, and with --runner whether a function runner can be used",
		Long: `Tell the version, and with --runner whether a function runner can be used.

` + exitHelp,
		Args: cobra.NoArgs,
	}
	runner := addAddressFlags(cmd.Flags(), "address of a function runner to look for, host:port")
	format := cmd.Flags().StringP("output", "o", formatText, "text, or json for one JSON document")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *format != formatText && *format != formatJSON {
			return &usageError{fmt.Errorf("--output is %q, want text or json", *format)}
		}
		if err := runner.validate(); err != nil {
			return err
		}
		doc := versionDocument{Version: version.Version(), Go: goruntime.Version(), Platform: goruntime.GOOS + "/" + goruntime.GOARCH}
		var err error
		if runner.address != "" {
			doc.Runner = &runnerState{Address: runner.address}
			err = c.checkRunner(cmd.Context(), runner, doc.Runner)
		}
		if errors.As(err, new(*usageError)) {
			return err
		}
		if *format == formatJSON {
			return errors.Join(report.WriteJSON(c.Out, doc), err)
		}
		c.writeVersion(doc)
		return err
	}
	return cmd
}

// checkRunner finds out whether a runner can be used, and what it speaks.
func (c *command) checkRunner(ctx context.Context, f *runnerFlags, state *runnerState) error {
	ctx, cancel := f.limit(ctx)
	defer cancel()
	evaluator, disconnect, err := c.connectTo(ctx, f)
	if err != nil {
		state.Error = oneLine(err.Error())
		return err
	}
	defer disconnect()
	state.Reachable, state.Contract = true, "krmfn.evaluator.v1"
	if _, err := evaluator.ListFunctions(ctx); errors.Is(err, errors.ErrUnsupported) {
		state.Contract = "evaluator"
	}
	return nil
}

func (c *command) writeVersion(doc versionDocument) {
	fmt.Fprintf(c.Out, "krmfn %s (%s, %s)\n", doc.Version, doc.Go, doc.Platform)
	if r := doc.Runner; r != nil && r.Reachable {
		fmt.Fprintf(c.Out, "function runner at %s serves %s\n", r.Address, r.Contract)
	}
}
