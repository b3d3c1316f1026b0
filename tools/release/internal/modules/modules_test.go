// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	// The test program links these packages. If they change, the go command does not reuse a cached test result.
	_ "github.com/krmfn/krmfn/functions/setlabels"
	_ "github.com/krmfn/krmfn/services/render/runtime"
	"github.com/krmfn/krmfn/tools/release/internal/modules"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

const root = "../../../.."

// The program is built like a user's program: in its own directory, from a module proxy, without replace directives. The proxy serves
// krmfn's modules from the checkout, and all others from the module cache.
func TestProgramOutsideOfTheRepositoryRenders(t *testing.T) {
	t.Parallel()

	v, err := versions.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	proxy, dir := t.TempDir(), t.TempDir()
	goMod := []string{"module example.org/outside", "go 1.26.0"}
	var goSum []string
	for _, name := range slices.Sorted(maps.Keys(v.Modules)) {
		goMod = append(goMod, "require "+modules.Path(name)+" "+v.Modules[name])
		goSum = append(goSum, read(t, filepath.Join(root, name, "go.sum")))
		serve(t, proxy, name, v.Modules[name])
	}
	write(t, filepath.Join(dir, "go.mod"), strings.Join(goMod, "\n"))
	write(t, filepath.Join(dir, "go.sum"), strings.Join(goSum, "")) // makes requests to the checksum database unnecessary
	write(t, filepath.Join(dir, "main.go"), read(t, "testdata/outside/main.go"))

	cmd := exec.CommandContext(t.Context(), "go", "run", ".")
	cmd.Dir = dir
	// The flags of make build, so that both share the build cache.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -modcacherw -trimpath -buildvcs=false -tags=grpcnotrace", "CGO_ENABLED=0",
		"GONOSUMDB=github.com/krmfn",
		// The usual module cache would keep a version after the checkout has changed.
		"GOMODCACHE="+t.TempDir(),
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(goEnv(t, "GOMODCACHE"), "cache", "download")+","+goEnv(t, "GOPROXY"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if diff := cmp.Diff(read(t, "testdata/outside/want.yaml"), string(got)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

// serve adds a module of the checkout to a module proxy on disk.
func serve(t *testing.T, proxy, name, version string) {
	t.Helper()
	dir := filepath.Join(proxy, modules.Path(name), "@v")
	write(t, filepath.Join(dir, "list"), version+"\n")
	write(t, filepath.Join(dir, version+".info"), fmt.Sprintf("{%q: %q}", "Version", version))
	write(t, filepath.Join(dir, version+".mod"), read(t, filepath.Join(root, name, "go.mod")))
	var content strings.Builder
	if err := zip.CreateFromDir(&content, module.Version{Path: modules.Path(name), Version: version}, filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, version+".zip"), content.String())
}

func TestRequire(t *testing.T) {
	t.Parallel()

	const before = `module github.com/krmfn/krmfn/functions

go 1.26.0

replace github.com/krmfn/krmfn/proto => ../proto

require (
	github.com/google/go-cmp v0.7.0 // why
	github.com/krmfn/krmfn/e2e v0.0.0
	github.com/krmfn/krmfn v0.0.0
	github.com/krmfn/krmfn/proto v0.0.0 // indirect
)
`
	file := filepath.Join(t.TempDir(), "go.mod")
	write(t, file, before)
	err := modules.Require(file, map[string]string{"proto": "v0.2.0", ".": "v0.3.0", "functions": "v0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("proto v0.0.0", "proto v0.2.0", "krmfn v0.0.0", "krmfn v0.3.0").Replace(before)
	if diff := cmp.Diff(want, read(t, file)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	required, err := modules.Required(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{".": "v0.3.0", "e2e": "v0.0.0", "proto": "v0.2.0"}, required); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
