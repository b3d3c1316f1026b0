// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command fuzz runs the fuzz targets of modules, one after the other, and prints how many inputs each has run. A target that
// fails leaves its input below testdata/fuzz and does not keep the others from running.
//
//	fuzz [-root DIR] [-match REGEXP] [-time DURATION|COUNTx] [-list] MODULE...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("fuzz", flag.ContinueOnError)
	root := flags.String("root", ".", "directory that has the modules")
	match := flags.String("match", "", "run only targets whose `regexp` matches DIR/NAME; all if empty")
	budget := flags.String("time", "10s", "how long each target runs, as a duration or, as in 1000000x, as a number of inputs")
	list := flags.Bool("list", false, "print the targets as JSON, for the matrix of a workflow, and run none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	matching, err := regexp.Compile(*match)
	if err != nil {
		return fmt.Errorf("-match: %w", err)
	}
	targets, err := find(*root, flags.Args(), matching)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return errors.New("there is no such fuzz target")
	}
	if *list {
		return printMatrix(w, targets)
	}
	return fuzz(ctx, *root, *budget, targets, w)
}
