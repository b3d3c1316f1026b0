// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command tracepicture draws docs/tracing.svg, the spans of one call of a function in a pod. With --record it first makes such a call with
// a function runner and a wrapper server on this machine, and stores the spans. A fake API server for one pod replaces the cluster.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// Paths in the checkout.
const (
	picture   = "docs/tracing.svg"
	spansFile = "e2e/cmd/tracepicture/testdata/spans.json"
)

func main() {
	bin := pflag.String("record", "", "directory of the binaries function-runner, wrapper-server and functions; empty draws what was recorded")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, *bin)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tracepicture:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin string) error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	if bin != "" {
		if err := keep(ctx, bin, filepath.Join(root, spansFile)); err != nil {
			return err
		}
	}
	drawn, err := draw(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, picture), drawn, 0o644)
}

// keep records a call and writes its spans to a file.
func keep(ctx context.Context, bin, file string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	traces, err := record(ctx, bin)
	if err != nil {
		return err
	}
	text, err := protojson.MarshalOptions{Multiline: true}.Marshal(traces)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// draw returns a picture of the recorded spans.
func draw(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, spansFile))
	if err != nil {
		return nil, err
	}
	traces := &tracepb.TracesData{}
	if err := protojson.Unmarshal(text, traces); err != nil {
		return nil, fmt.Errorf("%s: %w", spansFile, err)
	}
	return svg(spansOf(traces)), nil
}
