// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command affected prints the targets of the Makefile that check the files that differ from a commit: tests and lint of the modules that
// depend on them, and the checks of the chart, the protos, the docs and the workflows.
//
//	affected [-root DIR] [-since COMMIT] MODULE...
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "affected:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("affected", flag.ContinueOnError)
	root := flags.String("root", ".", "`directory` of the checkout")
	since := flags.String("since", "", "`commit` to compare with (default: merge base with origin/main, or with main)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	files, err := changed(ctx, *root, *since)
	if err != nil {
		return err
	}
	checkout, err := open(os.DirFS(*root), flags.Args())
	if err != nil {
		return err
	}
	targets, err := checkout.targets(files)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, strings.Join(targets, " "))
	return err
}

// changed returns the files that differ from a commit, including uncommitted and untracked files, with slashes.
func changed(ctx context.Context, root, since string) ([]string, error) {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
		var problem strings.Builder
		cmd.Stderr = &problem
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
		}
		return string(out), nil
	}
	branches := []string{since}
	if since == "" {
		branches = []string{"origin/main", "main"}
	}
	var base string
	var err error
	for _, branch := range branches {
		if base, err = git("merge-base", "HEAD", branch); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("find the commit to compare with: %w; set SINCE to a commit", err)
	}
	// A renamed file counts as two files, because other modules can depend on the old name.
	differing, err := git("diff", "-z", "--name-only", "--no-renames", strings.TrimSpace(base))
	if err != nil {
		return nil, err
	}
	untracked, err := git("ls-files", "-z", "--full-name", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(differing+untracked, func(r rune) bool { return r == 0 }), nil
}
