// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/internal/process/programtest"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/portforward/portforwardtest"
)

// doctorMachine returns an environment with container engines that answer, and those that do not, and with an empty cache.
func doctorMachine(t *testing.T, answering, silent []string) []string {
	t.Helper()
	dir := t.TempDir()
	for engine, script := range map[string]string{"answers": "#!/bin/sh\necho version 1.2.3\n", "silent": "#!/bin/sh\necho no daemon >&2\nexit 1\n"} {
		names := answering
		if engine == "silent" {
			names = silent
		}
		for _, name := range names {
			programtest.Write(t, filepath.Join(dir, name), script)
		}
	}
	return []string{"PATH=" + dir, "KRMFN_CACHE_DIR=" + filepath.Join(dir, "cache")}
}

// functionRegistry serves one image and returns the registry's address. It refuses repositories of the name private.
func functionRegistry(t *testing.T) string {
	t.Helper()
	images := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/private/") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		images.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	ref, err := name.ParseReference(host + "/fn/set-labels:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, empty.Image, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	return host
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	host := functionRegistry(t)
	cluster := portforwardtest.Start(t)
	works := porch{}.serve(t)
	for name, tc := range map[string]struct {
		environ, args []string
		code          int
		want          []string
	}{
		"all is well":        {doctorMachine(t, []string{"docker"}, nil), []string{"--default-image-prefix", host + "/fn"}, failure.OK, []string{"ok       engine   docker answers (version 1.2.3); podman is not installed", "ok       registry " + host + "/fn/set-labels can be read without credentials", "0 failed"}},
		"an image":           {doctorMachine(t, []string{"podman"}, nil), []string{"--image", host + "/fn/set-labels:v1"}, failure.OK, []string{"ok       registry " + host + "/fn/set-labels:v1 can be read"}},
		"no such image":      {doctorMachine(t, []string{"docker"}, nil), []string{"--image", host + "/fn/other:v1"}, failure.Failed, []string{"fails    registry " + host + "/fn/other:v1 cannot be read without credentials", "1 failed"}},
		"not asked for":      {doctorMachine(t, []string{"docker"}, nil), []string{"--default-image-prefix", host + "/none"}, failure.OK, []string{"warning  registry " + host + "/none/set-labels cannot be read"}},
		"private":            {doctorMachine(t, []string{"docker"}, nil), []string{"--image", host + "/private/fn:v1"}, failure.Failed, []string{"fails    registry", "→ log in"}},
		"engine is down":     {doctorMachine(t, []string{"podman"}, []string{"docker"}), []string{"--image", host + "/fn/set-labels:v1"}, failure.OK, []string{"ok       engine   docker does not answer: no daemon; podman answers"}},
		"a runner":           {doctorMachine(t, []string{"docker"}, nil), []string{"--image", host + "/fn/set-labels:v1", "--runner", works}, failure.OK, []string{"ok       runner   the function runner at " + works + " serves Porch's contract", "5 checks"}},
		"no runner":          {doctorMachine(t, []string{"docker"}, nil), []string{"--image", host + "/fn/set-labels:v1", "--runner", "127.0.0.1:1"}, failure.Failed, []string{"fails    runner   the function runner at 127.0.0.1:1 cannot be used", "connection refused"}},
		"no runner, cluster": {append(doctorMachine(t, []string{"docker"}, nil), "KUBECONFIG="+cluster.Kubeconfig), []string{"--image", host + "/fn/set-labels:v1", "--runner", kubeRunner}, failure.Failed, []string{"fails    runner", "no pod of Service porch-system/function-runner is ready"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := invocation{args: append([]string{"doctor"}, tc.args...), environ: tc.environ}.run(t.Context(), t)
			if got.code != tc.code {
				t.Errorf("exit code %d, want %d: %s", got.code, tc.code, got.err)
			}
			contains(t, got.out, tc.want...)
			contains(t, got.out, "cache    ", "will be made, ")
		})
	}
}

func TestDoctorJSON(t *testing.T) {
	t.Parallel()
	host := functionRegistry(t)
	var doc struct {
		Status string
		Checks []struct{ Check, Status, Found, Remedy string }
	}
	got := invocation{args: []string{"doctor", "-o", "json", "--image", host + "/private/fn:v1"}, environ: doctorMachine(t, []string{"docker"}, nil)}.run(t.Context(), t)
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range doc.Checks {
		names = append(names, c.Check)
		if c.Status == "" || c.Found == "" {
			t.Errorf("got %+v", c)
		}
	}
	if want := []string{"engine", "sandbox", "cache", "registry"}; doc.Status != "fails" || !slices.Equal(names, want) {
		t.Errorf("got %s of %v, want fails of %v", doc.Status, names, want)
	}
}

// Where neither engine nor sandbox can run images, the command fails.
func TestDoctorNothingRunsImages(t *testing.T) {
	t.Parallel()
	host := functionRegistry(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"doctor", "--image", host + "/fn/set-labels:v1"}
	for code, answering := range map[int][]string{failure.Failed: nil, failure.OK: {"docker"}} {
		environ := append(doctorMachine(t, answering, nil), "KRMFN_CACHE_DIR="+file)
		got := invocation{args: args, environ: environ}.run(t.Context(), t)
		if got.code != code {
			t.Errorf("exit code %d, want %d: %s", got.code, code, got.out)
		}
		contains(t, got.out, "cache    ", "not a directory", "→ make the directory writable, or set $KRMFN_CACHE_DIR")
	}
}
