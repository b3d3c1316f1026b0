// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun replaces the go command with a script that prints the same kind of output.
func TestRun(t *testing.T) {
	module, bin := t.TempDir(), t.TempDir()
	spec := filepath.Join(module, "api", "openapi-spec", "swagger.json")
	if err := os.MkdirAll(filepath.Dir(spec), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(spec, []byte(frog), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))

	const command = `test "$*" = "mod download -json k8s.io/kubernetes@v1.2.3" || exit 9; `
	tests := map[string]struct {
		goCommand string
		want      string // the error, or the content of the file
		fails     bool
	}{
		"good": {
			goCommand: `echo '{"Dir": "` + module + `", "Sum": "h1:good"}'`,
			want:      "# kubernetes v1.2.3\n" + frogLines,
		},
		"other checksum": {
			goCommand: `echo '{"Dir": "` + module + `", "Sum": "h1:evil"}'`,
			want:      "module k8s.io/kubernetes@v1.2.3 has checksum h1:evil, want h1:good",
			fails:     true,
		},
		"no such version": {
			goCommand: `echo '{"Error": "not found"}'; exit 1`,
			want:      "download k8s.io/kubernetes@v1.2.3: not found",
			fails:     true,
		},
		"failure without output": {
			goCommand: `exit 3`,
			want:      "download k8s.io/kubernetes@v1.2.3: exit status 3",
			fails:     true,
		},
		"no OpenAPI document": {
			goCommand: `echo '{"Dir": "/nowhere", "Sum": "h1:good"}'`,
			want:      "open /nowhere/api/openapi-spec/swagger.json: no such file or directory",
			fails:     true,
		},
	}
	for name, test := range tests {
		script := "#!/bin/sh\n" + command + test.goCommand + "\n"
		if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out.tsv")
		var stderr bytes.Buffer
		err := run(t.Context(), []string{"-version", "v1.2.3", "-sum", "h1:good", "-out", out}, &stderr)
		if test.fails {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: run() error = %v, want %q", name, err, test.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != test.want {
			t.Errorf("%s: wrote:\n%s\nwant:\n%s", name, got, test.want)
		}
	}
}
