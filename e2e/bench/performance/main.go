// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command performance writes the measurements in the documentation, from the reports in e2e/bench/reports. A page has the comments
// <!-- performance: begin NAME --> and <!-- performance: end --> around each generated block. The README has one block, without a name.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"text/template"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/e2e/bench/report"
)

//go:embed blocks.md.tmpl
var blocks string

// block matches a generated block with its comments.
var block = regexp.MustCompile(`(?s)(<!-- performance: begin( [a-z-]+)? -->\n)(.*?)(<!-- performance: end -->\n)`)

func main() {
	root := pflag.String("root", ".", "`directory` of the checkout")
	pflag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	files, err := generate(os.DirFS(root))
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the new contents of all pages with blocks and of the pictures, by their names in the checkout.
func generate(checkout fs.FS) (map[string][]byte, error) {
	m, err := read(checkout)
	if err != nil {
		return nil, err
	}
	parsed, err := template.New("blocks").Funcs(m.functions()).Parse(blocks)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(checkout, "docs/*.md")
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	for _, name := range append(names, "README.md") {
		text, err := fs.ReadFile(checkout, name)
		if err != nil {
			return nil, err
		}
		filled, err := fill(text, parsed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if filled != nil {
			files[name] = filled
		}
	}
	for name, picture := range map[string]picture{"docs/performance.svg": m.drawCalls, "docs/performance-porch.svg": m.drawPorch} {
		var drawn bytes.Buffer
		if err := picture(&drawn); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = drawn.Bytes()
	}
	return files, nil
}

// read reads the reports. Both must be of the same commit.
func read(checkout fs.FS) (measured, error) {
	var m measured
	for name, into := range map[string]any{"local": &m.Local, "cluster": &m.Cluster, "porch": &m.Porch} {
		if err := report.Read(checkout, "e2e/bench/reports/"+name+".json", into); err != nil {
			return m, err
		}
	}
	if local, cluster := m.Local.Fact("commit"), m.Cluster.Fact("commit"); local != cluster {
		return m, fmt.Errorf("the reports are of the commits %s and %s: run both make bench and make bench-e2e on one commit", local, cluster)
	}
	return m, nil
}

// fill replaces the contents of all blocks of a page. It returns nil for a page without blocks.
func fill(page []byte, blocks *template.Template) (filled []byte, err error) {
	begins, ends := bytes.Count(page, []byte("<!-- performance: begin")), bytes.Count(page, []byte("<!-- performance: end"))
	if begins == 0 && ends == 0 {
		return nil, nil
	}
	if found := len(block.FindAll(page, -1)); begins != found || ends != found {
		return nil, fmt.Errorf("%d comments begin a block and %d end one, but there are %d blocks: each needs a line of its own", begins, ends, found)
	}
	filled = block.ReplaceAllFunc(page, func(old []byte) []byte {
		parts := block.FindSubmatch(old)
		name := string(bytes.TrimSpace(parts[2]))
		if name == "" {
			name = "readme"
		}
		var text bytes.Buffer
		if failed := blocks.ExecuteTemplate(&text, name, nil); failed != nil {
			err = failed
		}
		return bytes.Join([][]byte{parts[1], text.Bytes(), parts[4]}, nil)
	})
	return filled, err
}
