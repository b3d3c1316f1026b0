// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command cluster measures the function runner in the cluster for end-to-end tests, beside the physical limits: the same
// function as a bare process, and the same pod without a function runner. All is measured in one run, in turns, so that
// what else the machine does falls on both.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

func main() {
	var o options
	pflag.StringVar(&o.bin, "bin", "bin", "directory of the binaries")
	pflag.StringVar(&o.out, "out", "build/bench-e2e", "directory for the report and its plots")
	pflag.IntVar(&o.rounds, "rounds", 3, "how many turns each load gets")
	pflag.DurationVar(&o.turn, "turn", 10*time.Second, "how long a turn is")
	pflag.IntVar(&o.starts, "starts", 10, "how many pods and cold calls of each kind are timed")
	pflag.IntVar(&o.pools, "pools", 1000, "how many idle pools the function runner's memory is measured with")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
