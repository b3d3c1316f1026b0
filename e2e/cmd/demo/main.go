// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command demo demonstrates rendering on one machine. It starts a function runner with the curated functions, runs krmfn to render an
// example package with it, and stops the function runner. It uses the binaries in the directory --bin and does not modify the checkout.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
)

// example is the path of the rendered package in the checkout.
const example = "examples/web-shop"

func main() {
	bin := pflag.String("bin", "bin", "directory of the binaries")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := demo(ctx, *bin)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context, bin string) (err error) {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "krmfn-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config, err := binaries.WriteExecConfig(ctx, bin, dir, binaries.Functions)
	if err != nil {
		return err
	}

	flags := config.Flags()
	say("A function runner starts, with the curated functions as executables.", "function-runner "+strings.Join(flags, " \\\n    "))
	runner, err := server.Start(ctx, filepath.Join(bin, binaries.FunctionRunner), filepath.Join(dir, "log"), flags...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Stop()) }()

	args := []string{"render", example, "--runner", runner.Addr, "--dry-run"}
	say("krmfn renders a package through it: each function of the pipeline is a gRPC call.", "krmfn "+strings.Join(args, " "))
	render := exec.CommandContext(ctx, filepath.Join(bin, binaries.Krmfn), args...)
	render.Dir, render.Stdout, render.Stderr = root, os.Stdout, os.Stderr
	if err := render.Run(); err != nil {
		return fmt.Errorf("krmfn render: %w", err)
	}
	say("The function runner stops; nothing was changed. Leave out --dry-run to write the package.", "")
	return nil
}

// say prints a description of the next step and its command.
func say(what, command string) {
	fmt.Printf("\n# %s\n", what)
	if command != "" {
		fmt.Printf("$ %s\n\n", command)
	}
}
