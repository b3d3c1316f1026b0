// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command mutate measures whether tests detect defects. It breaks code of the core in one place at a time, and runs the tests of the
// package, which must fail. It does not change the checkout. It fails if the tests of a package detect less than 95% of its mutations, or
// if a mutation does not apply.
//
//	mutate [-root DIR] [-match REGEXP]
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"text/tabwriter"
	"time"
)

// minKilled is the percentage of a package's mutations that its tests must detect.
const minKilled = 95

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, tables)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer, tables []table) error {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	root := flags.String("root", ".", "`directory` of the checkout")
	match := flags.String("match", "", "`regexp` that selects mutations by FILE: EFFECT; empty selects all")
	if err := flags.Parse(args); err != nil {
		return err
	}
	matching, err := regexp.Compile(*match)
	if err != nil {
		return fmt.Errorf("-match: %w", err)
	}
	dir, err := filepath.Abs(*root)
	if err != nil {
		return err
	}
	if err := check(dir, tables); err != nil {
		return err
	}
	tables = selected(tables, matching)
	if len(tables) == 0 {
		return errors.New("no mutation matches")
	}
	return mutate(ctx, dir, tables, w)
}

// mutate applies the mutations one at a time, and prints the outcome of each and a table of the packages.
func mutate(ctx context.Context, root string, tables []table, w io.Writer) error {
	scratch, err := os.MkdirTemp("", "krmfn-mutate-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // it is a temporary directory
	var failed []error
	var lines bytes.Buffer
	summary := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	fmt.Fprintln(summary, "PACKAGE\tMUTATIONS\tKILLED\tRATE")
	for _, t := range tables {
		// Tests that fail without a mutation would detect every mutation.
		if result, err := t.test(ctx, root); err != nil {
			return err
		} else if result.outcome != survived {
			return fmt.Errorf("the tests of %s fail without a mutation:\n%s", t.dir, result.output)
		}
		detected := 0
		for _, m := range t.mutations {
			begin := time.Now()
			result, err := t.try(ctx, root, scratch, m)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%-8s %4.0fs  %s%s\n", result.outcome, time.Since(begin).Seconds(), m.name(t.dir), result.by())
			switch result.outcome {
			case killed:
				detected++
			case broken:
				failed = append(failed, fmt.Errorf("%s: does not compile:\n%s", m.name(t.dir), result.output))
			}
		}
		rate := 100 * detected / len(t.mutations)
		fmt.Fprintf(summary, "%s\t%d\t%d\t%d%%\n", t.dir, len(t.mutations), detected, rate)
		if rate < minKilled {
			failed = append(failed, fmt.Errorf("%s: the tests detect %d%% of the mutations, want at least %d%%", t.dir, rate, minKilled))
		}
	}
	if err := summary.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s", &lines)
	return errors.Join(failed...)
}
