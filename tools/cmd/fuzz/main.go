// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command fuzz runs the fuzz targets of modules one at a time, and prints the number of inputs of each. The input of a target that fails is
// below testdata/fuzz. The other targets still run.
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
	root := flags.String("root", ".", "`directory` of the checkout")
	match := flags.String("match", "", "`regexp` that selects targets by DIR/NAME; empty selects all")
	budget := flags.String("time", "10s", "`limit` of each target: a duration such as 10s, or a number of inputs such as 1000000x")
	list := flags.Bool("list", false, "print the targets as JSON for the matrix of a workflow, without running them")
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
		return errors.New("no fuzz target matches")
	}
	if *list {
		return json.NewEncoder(w).Encode(map[string][]target{"include": targets})
	}
	return fuzz(ctx, *root, *budget, targets, w)
}

type target struct {
	Dir  string `json:"dir"` // directory of the package, relative to the root, with slashes
	Name string `json:"name"`
}

func (t target) String() string { return t.Dir + "/" + t.Name }

var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// find returns the matching targets in modules, in the order of modules, paths and declarations.
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

// fuzz runs the targets and prints a table with their numbers of inputs.
func fuzz(ctx context.Context, root, budget string, targets []target, w io.Writer) error {
	var failed []error
	var lines bytes.Buffer
	table := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TARGET\tINPUTS\tCORPUS\tTIME")
	for _, t := range targets {
		fmt.Fprintln(w, t)
		begin := time.Now()
		var output bytes.Buffer
		err := t.command(ctx, root, budget, io.MultiWriter(w, &output)).Run()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		inputs, corpus := counts(output.Bytes())
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

// command returns the command that runs the target. Without -fuzzminimizetime, Go would spend most of a short run on shortening inputs.
func (t target) command(ctx context.Context, root, budget string, out io.Writer) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.Name+"$", "-fuzztime", budget, "-fuzzminimizetime", "1x", ".")
	cmd.Dir = filepath.Join(root, filepath.FromSlash(t.Dir))
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}

var counted = regexp.MustCompile(`execs: (\d+) .*\(total: (\d+)\)`)

// counts returns the latest number of inputs, and of inputs in the corpus, in the output of go test. Both are 0 if it has run none.
func counts(output []byte) (inputs, corpus string) {
	all := counted.FindAllSubmatch(output, -1)
	if len(all) == 0 {
		return "0", "0"
	}
	last := all[len(all)-1]
	return string(last[1]), string(last[2])
}
