// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package golden tests a function with golden files: each directory is a case with an input and the expected output.
package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Files of a case.
const (
	// inputFile contains the resources, as YAML documents. It is optional.
	inputFile = "input.yaml"
	// configFile contains the functionConfig. It is optional.
	configFile = "config.yaml"
	// expectedFile contains the expected ResourceList. If the function must fail, the file begins with a comment that contains the
	// error.
	expectedFile = "expected.yaml"
)

// Run runs a function on each case in the subdirectories of dir and compares the output with expected.yaml. If update is set, it writes
// that file instead. A function that succeeds must be idempotent: a second run on its output must change nothing.
func Run(t *testing.T, f function.Function, dir string, update bool) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		cases++
		t.Run(entry.Name(), func(t *testing.T) {
			t.Parallel()
			if err := check(t, f, filepath.Join(dir, entry.Name()), update); err != nil {
				t.Error(err)
			}
		})
	}
	if cases == 0 {
		t.Errorf("%s has no cases: create a directory in it with %s", dir, inputFile)
	}
}

func check(t *testing.T, f function.Function, dir string, update bool) error {
	t.Helper()
	list, err := input(dir)
	if err != nil {
		return err
	}
	got, err := evaluate(t, f, list)
	if err == nil {
		again, err := evaluate(t, f, got)
		if diff := cmp.Diff(items(got), items(again)); err != nil || diff != "" {
			return fmt.Errorf("a second run over the output must change nothing: error %v (-first +second):\n%s", err, diff) //nolint:errorlint // it may be nil
		}
	} else {
		got = fmt.Appendf(nil, "# error: %v\n%s", err, got)
	}
	got = append(bytes.TrimRight(got, "\n"), '\n')
	file := filepath.Join(dir, expectedFile)
	if update {
		return os.WriteFile(file, got, 0o644)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w: run the test with -update to write it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		return fmt.Errorf("%s differs; -update rewrites it (-want +got):\n%s", file, diff)
	}
	return nil
}

func evaluate(t *testing.T, f function.Function, list []byte) ([]byte, error) {
	t.Helper()
	return function.Run(t.Context(), f, list)
}

// input builds the ResourceList of a case.
func input(dir string) ([]byte, error) {
	list := &fn.ResourceList{FunctionConfig: fn.NewEmptyKubeObject()}
	var err error
	if list.Items, err = objects(filepath.Join(dir, inputFile)); err != nil {
		return nil, err
	}
	configs, err := objects(filepath.Join(dir, configFile))
	if err != nil {
		return nil, err
	}
	switch len(configs) {
	case 0:
	case 1:
		list.FunctionConfig = configs[0]
	default:
		return nil, fmt.Errorf("%s has %d documents, want one", filepath.Join(dir, configFile), len(configs))
	}
	return list.ToYAML()
}

func objects(file string) (fn.KubeObjects, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || len(bytes.TrimSpace(text)) == 0 && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	parsed, err := fn.ParseKubeObjects(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return parsed, nil
}

// items returns the items of a list as text, or the error if the list cannot be parsed.
func items(list []byte) string {
	parsed, err := fn.ParseResourceList(list)
	if err != nil {
		return err.Error()
	}
	return parsed.Items.String()
}
