// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command demopicture draws what a terminal shows of `make demo`, as an SVG: it runs the demo with the binaries from --bin and
// writes the picture to --out. What differs from run to run is replaced, so that the same commands make the same picture.
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

// picture is where the picture is, in the checkout.
const picture = "docs/demo.svg"

func main() {
	bin := pflag.String("bin", "bin", "directory of the binaries")
	out := pflag.String("out", "", "file to write the picture to (default "+picture+" in the checkout)")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, *bin, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demopicture:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, out string) error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join(root, picture)
	}
	svg, err := draw(ctx, root, bin)
	if err != nil {
		return err
	}
	return os.WriteFile(out, svg, 0o644)
}

// draw runs the demo and returns the picture of it. root is the checkout, bin the directory of the binaries.
func draw(ctx context.Context, root, bin string) ([]byte, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	output, err := onTerminal(ctx, filepath.Join(root, "e2e"), "go", "run", "./cmd/demo", "--bin", bin)
	if err != nil {
		return nil, err
	}
	lines, err := parse(output)
	if err != nil {
		return nil, err
	}
	if lines, err = scene(lines); err != nil {
		return nil, err
	}
	return svg(lines), nil
}
