// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package project writes the Go module of a new function.
package project

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"golang.org/x/mod/module"
)

// Options say what to write, and where.
type Options struct {
	// Name is the function's: a DNS label.
	Name string
	// Module is the path of the Go module.
	Module string
	// Dir is the directory to write to: new, or empty.
	Dir string
	// SDK is the Go package that the module uses.
	SDK SDK
}

// dnsLabel is what Kubernetes takes as the name of an object, and registries as that of an image.
var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Validate checks the names and the directory.
func (o Options) Validate() error {
	if !dnsLabel.MatchString(o.Name) || o.Name == "tmp" {
		return fmt.Errorf("function name %q must be up to 63 lower case letters, digits and dashes, must begin and end with a letter or digit, and must not be tmp", o.Name)
	}
	if err := module.CheckImportPath(o.Module); err != nil {
		return fmt.Errorf("--module: %w", err)
	}
	entries, err := os.ReadDir(o.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("--output: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("directory %s is not empty: name another with --output", o.Dir)
	}
	return nil
}

// Kind is the kind of the function's own configuration: add-owner has AddOwner.
func (o Options) Kind() string {
	var kind strings.Builder
	for word := range strings.SplitSeq(o.Name, "-") {
		if word != "" {
			kind.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return kind.String()
}

//go:embed template
var templates embed.FS

// places are where files go whose names in a Go package would mean something else.
var places = map[string]string{"workflow.yaml": ".github/workflows/ci.yaml", "gitignore": ".gitignore"}

// Write writes the files and returns their paths, in the order of their names.
func Write(o Options) ([]string, error) {
	// Everything is made before anything is written.
	files := map[string][]byte{}
	var written []string
	err := fs.WalkDir(templates, "template", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		parsed, err := template.New(entry.Name()).Delims("[[", "]]").ParseFS(templates, name)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := parsed.Execute(&text, o); err != nil {
			return err
		}
		name = strings.TrimSuffix(strings.TrimPrefix(name, "template/"), ".tmpl")
		if place, ok := places[name]; ok {
			name = place
		}
		file := filepath.Join(o.Dir, filepath.FromSlash(name))
		files[file] = text.Bytes()
		written = append(written, file)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, file := range written {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, files[file], 0o666); err != nil {
			return nil, err
		}
	}
	return written, nil
}
