// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package programs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/tools/release/internal/programs"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

var (
	line = []string{
		"CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X github.com/krmfn/krmfn/internal/server/version.release=none", "-tags", "grpcnotrace",
	}
	here = programs.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
)

func TestAll(t *testing.T) {
	t.Parallel()

	v := versions.Versions{Images: map[string]string{"functions": "v1.0.0", "krmfn": "v1.0.1"}}
	got, err := programs.All([]string{"krmfn", "functions/cmd/functions"}, v)
	if err != nil {
		t.Fatal(err)
	}
	want := []programs.Program{
		{Name: "krmfn", Dir: "krmfn", Version: "v1.0.1"},
		{Name: "functions", Dir: "functions/cmd/functions", Version: "v1.0.0"},
		{Name: "functions-light", Dir: "functions/cmd/functions", Version: "v1.0.0", Tag: "light"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("All() (-want +got):\n%s", diff)
	}
	if _, err := programs.All([]string{"wrapper-server"}, v); err == nil || !strings.Contains(err.Error(), "no image wrapper-server") {
		t.Errorf("All() of a command without a version: error = %v, want one that names the image", err)
	}
}

func TestBuildSetsVersionAndTag(t *testing.T) {
	t.Parallel()

	root := module(t)
	tests := map[string]struct {
		program programs.Program
		want    string
	}{
		"plain":    {programs.Program{Name: "one", Dir: "program", Version: "v1.2.3"}, "v1.2.3 complete"},
		"with tag": {programs.Program{Name: "two", Dir: "program", Version: "v1.2.4", Tag: "light"}, "v1.2.4 light"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			file, err := programs.Builder{Root: root, Line: line}.Build(t.Context(), test.program, here, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			output, err := exec.CommandContext(t.Context(), file).Output()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, strings.TrimSpace(string(output))); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBuildDoesNotDependOnDirectory(t *testing.T) {
	t.Parallel()

	program := programs.Program{Name: "one", Dir: "program", Version: "v1.2.3"}
	var sums []string
	for range 2 {
		file, err := programs.Builder{Root: module(t), Line: line}.Build(t.Context(), program, here, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		sum, err := programs.Sum(file)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
	}
	if sums[0] != sums[1] {
		t.Errorf("sums of two builds = %v, want equal sums", sums)
	}
}

func TestParsePlatforms(t *testing.T) {
	t.Parallel()

	got, err := programs.ParsePlatforms(" linux/amd64  darwin/arm64 ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]programs.Platform{{OS: "linux", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}}, got); diff != "" {
		t.Errorf("ParsePlatforms() (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"linux", "/amd64", "linux/"} {
		if _, err := programs.ParsePlatforms(bad); err == nil {
			t.Errorf("ParsePlatforms(%q) succeeded, want an error", bad)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		line []string
		want string
	}{
		"nothing":          {nil, "has no command"},
		"only environment": {[]string{"A=b"}, "has no command"},
		"no ldflags":       {[]string{"go", "build", "-tags", "a"}, "lacks the flags"},
		"no value":         {[]string{"go", "build", "-ldflags", "a", "-tags"}, "lacks the flags"},
		"no version":       {[]string{"go", "build", "-ldflags", "-s -w", "-tags", "a"}, "do not set"},
		"build fails":      {append([]string{"A=b"}, line[1:]...), "build nothing for " + here.String()},
	}
	root := module(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			program := programs.Program{Name: "nothing", Dir: "empty"}
			_, err := programs.Builder{Root: root, Line: test.line}.Build(t.Context(), program, here, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Build() error = %v, want %q", err, test.want)
			}
		})
	}
}

// module creates a module with krmfn's path and a program that prints its version, and returns its directory.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                             "module github.com/krmfn/krmfn\n\ngo 1.26.0\n",
		"empty/empty.txt":                    "",
		"internal/server/version/version.go": "package version\n\nvar release string\n\nfunc Version() string { return release }\n",
		"program/main.go":                    "package main\n\nimport \"github.com/krmfn/krmfn/internal/server/version\"\n\nfunc main() { say(version.Version(), kind) }\n",
		"program/print.go":                   "package main\n\nimport \"fmt\"\n\nfunc say(a, b string) { fmt.Println(a, b) }\n",
		"program/complete.go":                "//go:build !light\n\npackage main\n\nconst kind = \"complete\"\n",
		"program/light.go":                   "//go:build light\n\npackage main\n\nconst kind = \"light\"\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
