// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command fuzz runs the fuzz targets of modules, one after the other, and prints how many inputs each has run. A target that
// fails leaves its input below testdata/fuzz and does not keep the others from running.
//
//	fuzz [-root DIR] [-match REGEXP] [-time DURATION|COUNTx] [-list] MODULE...
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"
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
		return json.NewEncoder(w).Encode(map[string][]target{"include": targets})
	}
	return fuzz(ctx, *root, *budget, targets, w)
}

type target struct {
	Dir  string `json:"dir"` // of its package, below the root, with slashes
	Name string `json:"name"`
}

func (t target) String() string { return t.Dir + "/" + t.Name }

var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// find lists the targets in modules that match, by module, path and place in the file.
func find(root string, modules []string, matching *regexp.Regexp) ([]target, error) {
	var targets []target
	for _, module := range modules {
		err := fs.WalkDir(os.DirFS(root), module, func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && (entry.Name() == "testdata" || file != module && isModule(root, file)) {
				return fs.SkipDir
			}
			if entry.IsDir() || !strings.HasSuffix(file, "_test.go") {
				return nil
			}
			source, err := os.ReadFile(filepath.Join(root, file))
			for _, found := range declaration.FindAllSubmatch(source, -1) {
				t := target{Dir: path.Dir(file), Name: string(found[1])}
				if matching.MatchString(t.String()) {
					targets = append(targets, t)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return targets, nil
}

func isModule(root, dir string) bool {
	_, err := os.Stat(filepath.Join(root, dir, "go.mod"))
	return err == nil
}

// fuzz runs targets and prints a table of their inputs.
func fuzz(ctx context.Context, root, budget string, targets []target, w io.Writer) error {
	var failed []error
	var lines bytes.Buffer
	table := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TARGET\tINPUTS\tCORPUS\tTIME")
	for _, t := range targets {
		fmt.Fprintln(w, t)
		begin := time.Now()
		var said bytes.Buffer
		err := t.command(ctx, root, budget, io.MultiWriter(w, &said)).Run()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		inputs, corpus := counts(said.Bytes())
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", t, inputs, corpus, time.Since(begin).Round(time.Second))
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", t, err))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s", &lines)
	return errors.Join(append(failed, err)...)
}

// command runs the target. Go would spend up to a minute on making each interesting input smaller, and most of a short run.
func (t target) command(ctx context.Context, root, budget string, out io.Writer) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.Name+"$", "-fuzztime", budget, "-fuzzminimizetime", "1x", ".")
	cmd.Dir = filepath.Join(root, filepath.FromSlash(t.Dir))
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}

var counted = regexp.MustCompile(`execs: (\d+) .*\(total: (\d+)\)`)

// counts are the numbers of inputs and of interesting ones as go test printed them last: 0 before it has run any.
func counts(said []byte) (inputs, corpus string) {
	all := counted.FindAllSubmatch(said, -1)
	if len(all) == 0 {
		return "0", "0"
	}
	last := all[len(all)-1]
	return string(last[1]), string(last[2])
}
