// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command scale writes docs/scale.md and its pictures from the results of the simulation in function-runner/internal/scale.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/template"

	"github.com/spf13/pflag"
)

//go:embed page.md.tmpl
var page string

func main() {
	root := pflag.String("root", ".", "directory of the checkout")
	pflag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	text, err := os.ReadFile(filepath.Join(root, "build", "scale.json"))
	if err != nil {
		return fmt.Errorf("%w: try make scale", err)
	}
	var all results
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	parsed, err := template.New("page").Parse(page)
	if err != nil {
		return err
	}
	var filled bytes.Buffer
	if err := parsed.Execute(&filled, all); err != nil {
		return err
	}
	docs := filepath.Join(root, "docs")
	return errors.Join(
		os.WriteFile(filepath.Join(docs, "scale.md"), filled.Bytes(), 0o644),
		draw(filepath.Join(docs, "scale-requests.svg"), all.drawRequests),
		draw(filepath.Join(docs, "scale-calls.svg"), all.drawCalls),
	)
}

// draw writes a picture to a file.
func draw(file string, picture func(io.Writer) error) error {
	var drawn bytes.Buffer
	if err := picture(&drawn); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, drawn.Bytes(), 0o644)
}
