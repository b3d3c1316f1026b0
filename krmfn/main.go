// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command krmfn evaluates KRM functions and renders kpt packages with them. Started by the name of a curated function, it
// is that function. As the first process of a function's container, it is the entrypoint.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/krmfn/internal/collector"
	"github.com/krmfn/krmfn/krmfn/internal/command"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/embedded"
	"github.com/krmfn/krmfn/krmfn/internal/engine/entrypoint"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

func main() {
	// Many functions, or entrypoints of containers, run concurrently.
	if os.Getpid() == 1 || len(os.Args) > 0 && isFunction(os.Args[0]) {
		collector.Restore()
	}
	if code, ok := embedded.RunFunction(os.Args, os.Stdin, os.Stdout, os.Stderr); ok {
		os.Exit(code)
	}
	if code, ok := entrypoint.Run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr); ok {
		os.Exit(code)
	}
	spareCollector()
	os.Exit(run())
}

func isFunction(program string) bool {
	_, ok := functions.Lookup(filepath.Base(program))
	return ok
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	defer watchHeap(ctx, heapLimit(), func(message string) {
		fmt.Fprintln(os.Stderr, message)
		os.Exit(failure.Failed)
	})()
	executable, err := os.Executable()
	if err != nil {
		fmt.Fprintf(os.Stderr, "krmfn: find the program's own file: %v\n", err)
		return failure.Failed
	}
	return command.Run(ctx, program.Program{
		Executable: executable,
		Args:       os.Args[1:],
		Environ:    os.Environ(),
		In:         os.Stdin,
		Out:        terminal.NewStream(os.Stdout, os.Getenv("TERM")),
		Err:        terminal.NewStream(os.Stderr, os.Getenv("TERM")),
	})
}
