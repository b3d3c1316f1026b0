// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command performance writes docs/performance.md, its plots and the performance section of the README from the reports of both benchmarks.
// The only numbers written by hand are the numbers of another function runner, in the template.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/e2e/bench/report"
)

var (
	//go:embed page.md.tmpl
	page string
	//go:embed readme.md.tmpl
	readme string
)

// begin and end delimit the generated part of the README.
const begin, end = "<!-- Written by make performance. -->\n", "<!-- The end of what make performance writes. -->\n"

// pictures maps the plots that the benchmarks write below build to the names of the copies in docs.
var pictures = map[string]string{
	"bench/latency.svg": "performance-exec-latency.svg", "bench/throughput.svg": "performance-exec-throughput.svg",
	"bench-e2e/latency.svg": "performance-pod-latency.svg", "bench-e2e/throughput.svg": "performance-pod-throughput.svg",
	"bench-e2e/coldstart.svg": "performance-coldstart.svg",
}

func main() {
	root := pflag.String("root", ".", "directory of the checkout")
	pflag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	build := filepath.Join(root, "build")
	local, err := report.Read(filepath.Join(build, "bench"))
	if err != nil {
		return fmt.Errorf("%w: try make bench", err)
	}
	cluster, err := report.Read(filepath.Join(build, "bench-e2e"))
	if err != nil {
		return fmt.Errorf("%w: try make bench-e2e", err)
	}
	both := measured{Local: local, Cluster: cluster}
	text, err := both.fill(page)
	if err != nil {
		return err
	}
	file := filepath.Join(root, "README.md")
	whole, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	part, err := both.fill(readme)
	if err != nil {
		return err
	}
	whole, err = between(whole, part)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for from, to := range pictures {
		picture, err := os.ReadFile(filepath.Join(build, from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, "docs", to), picture, 0o644); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(filepath.Join(root, "docs", "performance.md"), text, 0o644), os.WriteFile(file, whole, 0o644))
}

// between replaces the text between the begin and end lines with a part.
func between(whole, part []byte) ([]byte, error) {
	before, rest, begun := bytes.Cut(whole, []byte(begin))
	_, after, ended := bytes.Cut(rest, []byte(end))
	if !begun || !ended {
		return nil, fmt.Errorf("it lacks the line %q or %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return bytes.Join([][]byte{before, []byte(begin), part, []byte(end), after}, nil), nil
}

// fill executes a template with the measured values.
func (m measured) fill(text string) ([]byte, error) {
	parsed, err := template.New("page").Funcs(m.functions()).Parse(text)
	if err != nil {
		return nil, err
	}
	var filled bytes.Buffer
	err = parsed.Execute(&filled, m)
	return filled.Bytes(), err
}
