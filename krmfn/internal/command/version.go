// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/internal/server/version"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// versionDocument is the output of krmfn version --format json.
type versionDocument struct {
	// Version is the release of krmfn.
	Version string `json:"version"`
	// Go is the release of Go that built krmfn. Platform is the operating system and architecture, like linux/amd64.
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Runner is the state of the function runner at --runner, or nil without the flag.
	Runner *runnerState `json:"runner,omitempty"`
}

type runnerState struct {
	// Address is the value of --runner.
	Address string `json:"address"`
	// Reachable reports whether the function runner serves calls.
	Reachable bool `json:"reachable"`
	// Contract is "krmfn.evaluator.v1", or "evaluator" for runners that know Porch's contract only.
	Contract string `json:"contract,omitempty"`
	// Error is the reason why krmfn could not connect, on one line.
	Error string `json:"error,omitempty"`
}

// newVersion returns the command krmfn version.
func newVersion(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and check a function runner with --runner",
		Long: `Print the version, and with --runner check whether a function runner can be used.

` + failure.Help,
		Args: cobra.NoArgs,
	}
	flags := runner.AddAddressFlags(cmd.Flags(), "address of a function runner to check, "+runner.AddressForm)
	wantsJSON := output.AddFormatFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		json, err := wantsJSON()
		if err == nil {
			err = flags.Validate()
		}
		if err != nil {
			return err
		}
		doc := newVersionDocument()
		if flags.Address != "" {
			doc.Runner = &runnerState{Address: flags.Address}
			err = doc.Runner.check(cmd.Context(), p, flags)
		}
		if failure.IsUsage(err) {
			return err
		}
		if json {
			return errors.Join(report.WriteJSON(p.Out, doc), err)
		}
		doc.write(p.Out)
		return err
	}
	return cmd
}

// check connects to the function runner, and sets Reachable and Contract, or Error.
func (s *runnerState) check(ctx context.Context, p *program.Program, flags *runner.Flags) error {
	ctx, cancel := flags.Limit(ctx)
	defer cancel()
	evaluator, disconnect, err := runner.ConnectTo(ctx, p, flags)
	if err != nil {
		s.Error = terminal.OneLine(err.Error())
		return err
	}
	defer disconnect()
	s.Reachable, s.Contract = true, "krmfn.evaluator.v1"
	if _, err := evaluator.ListFunctions(ctx); errors.Is(err, errors.ErrUnsupported) {
		s.Contract = "evaluator"
	}
	return nil
}

func newVersionDocument() versionDocument {
	return versionDocument{Version: version.Version(), Go: goruntime.Version(), Platform: goruntime.GOOS + "/" + goruntime.GOARCH}
}

func (d versionDocument) line() string {
	return fmt.Sprintf("krmfn %s (%s, %s)", d.Version, d.Go, d.Platform)
}

func (d versionDocument) write(out io.Writer) {
	fmt.Fprintln(out, d.line())
	if r := d.Runner; r != nil && r.Reachable {
		fmt.Fprintf(out, "function runner at %s serves %s\n", r.Address, r.Contract)
	}
}
