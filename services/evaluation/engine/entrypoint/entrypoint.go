// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package entrypoint is the first process of a container that is kept for many calls of its function. A program that calls Run acts as
// that process where a container engine starts it as one. It gets each call on standard input, runs the function's own command for it,
// and answers on standard output. It ends, and the container with it, when its standard input does.
package entrypoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/krmfn/krmfn/services/evaluation/process"
)

// Name is the argument after the program's name that makes a program the entrypoint. After it comes the function's command.
const Name = "krm-function-entrypoint"

// exitUnable is the exit code of an entrypoint that cannot run functions.
const exitUnable = 125

// Run is the entrypoint where the arguments of the program, its own name first, say so; ok tells whether they do. Only the first
// process of a container is one.
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

// Serve answers requests with what the command argv does, until the input ends, which is no error. After each call it removes what has
// come to the scratch directories: nobody else may have files there.
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
	// Without the list of its children it leaves what a function leaves, which ends with the container.
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

// receive hands on requests until the input ends or is broken, when it calls end: nobody waits for the call that runs then.
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
