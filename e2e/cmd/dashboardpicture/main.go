// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command dashboardpicture draws docs/dashboard.svg, the chart's dashboard with example data. It evaluates the dashboard's queries with the
// Prometheus engine.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// Paths in the checkout.
const (
	picture       = "docs/dashboard.svg"
	dashboardFile = "charts/krmfn/dashboards/krmfn.json"
	seriesFile    = "e2e/cmd/dashboardpicture/testdata/series.txt"
)

func main() {
	out := pflag.String("out", "", "file to write the picture to (default "+picture+" in the checkout)")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dashboardpicture:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join(root, picture)
	}
	d, err := evaluate(ctx, root)
	if err != nil {
		return err
	}
	return os.WriteFile(out, svg(d), 0o644)
}
