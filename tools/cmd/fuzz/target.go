// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"
)

// target is a fuzz target.
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

func printMatrix(w io.Writer, targets []target) error {
	data, err := json.Marshal(map[string][]target{"include": targets})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", data)
	return err
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
		said := progress{to: w}
		err := t.command(ctx, root, budget, &said).Run()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		inputs, corpus := said.counts()
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

// progress passes on what go test prints, and keeps it.
type progress struct {
	to   io.Writer
	said bytes.Buffer
}

func (p *progress) Write(data []byte) (int, error) {
	p.said.Write(data)
	return p.to.Write(data)
}

var counted = regexp.MustCompile(`execs: (\d+) .*\(total: (\d+)\)`)

// counts are the numbers of inputs and of interesting ones as go test printed them last: 0 before it has run any.
func (p *progress) counts() (inputs, corpus string) {
	all := counted.FindAllSubmatch(p.said.Bytes(), -1)
	if len(all) == 0 {
		return "0", "0"
	}
	last := all[len(all)-1]
	return string(last[1]), string(last[2])
}
