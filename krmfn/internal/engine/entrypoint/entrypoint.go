// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package entrypoint implements the first process of a reusable container. It reads requests from standard input, runs the function's
// command for each, and writes answers to standard output. It exits, and the container with it, when standard input ends.
package entrypoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/krmfn/krmfn/internal/process"
)

// Name is the argument that makes a program the entrypoint. The function's command follows it.
const Name = "krm-function-entrypoint"

// exitUnable is the exit code if the entrypoint cannot run functions.
const exitUnable = 125

// Run runs the entrypoint if args, which begin with the program's name, ask for it and this process has PID 1. ok reports whether it
// did.
func Run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) (code int, ok bool) {
	if len(args) < 3 || args[1] != Name || os.Getpid() != 1 {
		return 0, false
	}
	if err := Serve(ctx, args[2:], container, in, out); err != nil {
		fmt.Fprintf(errs, "entrypoint: %v\n", err)
		return exitUnable, true
	}
	return 0, true
}

// Serve runs the command argv for each request, until the input ends. Then it returns nil. After each call, it removes new files from
// the scratch directories. No other program may create files there.
func Serve(ctx context.Context, argv []string, scratch Scratch, in io.Reader, out io.Writer) error {
	protect()
	dir, err := scratch.writable()
	if err != nil {
		return err
	}
	runner := process.NewRunner(process.Options{ScratchRoot: dir})
	defer runner.Close()
	ctx, cancel := context.WithCancel(ctx)
	var reaping sync.WaitGroup
	// If /proc does not list children, Reap returns at once. Orphans then live until the container ends.
	reaping.Go(func() { _ = runner.Reap(ctx) })
	defer func() {
		cancel()
		reaping.Wait()
	}()
	if _, err := io.WriteString(out, greeting); err != nil {
		return err
	}
	before := scratch.list()
	answers := bufio.NewWriter(out)
	for r := range receive(in, cancel) {
		outcome, err := runner.Run(ctx, process.Command{Argv: argv, Env: os.Environ(), MaxStdout: r.maxStdout}, r.stdin)
		if ctx.Err() != nil {
			return nil
		}
		before.restore()
		if err := errors.Join(writeAnswer(answers, outcome, err), answers.Flush()); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	return nil
}

// receive returns a channel of requests. When the input ends or is invalid, it closes the channel and calls end, because the caller of
// the current request is gone.
func receive(in io.Reader, end func()) <-chan request {
	requests := make(chan request)
	go func() {
		defer close(requests)
		defer end()
		buffered := bufio.NewReader(in)
		for {
			r, err := readRequest(buffered)
			if err != nil {
				return
			}
			requests <- r
		}
	}()
	return requests
}
