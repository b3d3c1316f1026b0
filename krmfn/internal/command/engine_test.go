// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/internal/process/programtest"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// fakeEngine is a program that plays docker, podman or nerdctl: its function changes nothing and says who runs it.
const fakeEngine = `#!/bin/sh
echo "$*" >>"$0.log"
case $1 in
version|info) test ! -e "$0.down" || { echo "Cannot connect to the daemon" >&2; exit 1; } ;;
image) test -e "$0.pulled" || exit 1; echo '[{"Id": "sha256:12", "Config": {"Cmd": ["fn"]}}]' ;;
pull) echo "v1: Pulling"; test ! -e "$0.missing" || { echo "manifest unknown" >&2; exit 1; }; : >"$0.pulled" ;;
run) case "$*" in *--entrypoint*) exit 125 ;; esac
  echo "WARNING: image platform (linux/arm64) does not match the expected platform (linux/amd64)" >&2
  echo "by $0" >&2
  exec /bin/cat ;;
esac
`

// machine has fake engines of these names.
func machine(t *testing.T, names ...string) (dir string, environ []string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		programtest.Write(t, filepath.Join(dir, name), fakeEngine)
	}
	if err := os.WriteFile(filepath.Join(dir, "Kptfile"), []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"PATH=" + dir, "KRMFN_RUNTIME=", "HOME="}
}

func touch(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

const image = "example.com/fn:v1"

func TestEngine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		engines []string
		// files configure how the fake engines fail. They are in the directory of the engines.
		files   []string
		args    []string
		environ []string
		code    int
		want    []string
	}{
		"the first": {
			engines: []string{"docker", "podman"},
			want:    []string{"pulling " + image, "[WARN] docker: WARNING: image platform", "by DIR/docker"},
		},
		"the one that answers": {engines: []string{"docker", "nerdctl"}, files: []string{"docker.down"}, want: []string{"by DIR/nerdctl"}},
		"of kpt's variable":    {engines: []string{"docker", "podman"}, environ: []string{"KPT_FN_RUNTIME=podman"}, want: []string{"by DIR/podman"}},
		"of kpt's newer one":   {engines: []string{"docker", "podman"}, environ: []string{"KRM_FN_RUNTIME=Podman", "KPT_FN_RUNTIME=docker"}, want: []string{"by DIR/podman"}},
		"of the flag":          {engines: []string{"docker", "podman"}, args: []string{"--runtime=builtin,podman"}, want: []string{"by DIR/podman"}},
		"named and down": {
			engines: []string{"docker"}, files: []string{"docker.down"}, args: []string{"--runtime=docker"}, code: failure.Failed,
			want: []string{"error: docker does not answer: Cannot connect to the daemon"},
		},
		"of kpt's variable, and down": {
			engines: []string{"docker", "podman"}, files: []string{"podman.down"}, environ: []string{"KPT_FN_RUNTIME=podman"}, code: failure.Failed,
			want: []string{`function "` + image + `" not found; podman does not answer: Cannot connect to the daemon`},
		},
		"down, with the sandbox behind it": {
			engines: []string{"docker"}, files: []string{"docker.down"}, args: []string{"-i", "oci:/no/such", "--runtime=builtin,engine,sandbox"}, code: failure.Failed,
			want: []string{"docker does not answer: Cannot connect to the daemon", "sandbox: "},
		},
		"no such image": {
			engines: []string{"docker"}, files: []string{"docker.missing"}, code: failure.Failed,
			want: []string{"docker: image " + image + ": pull: manifest unknown"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, environ := machine(t, test.engines...)
			for _, file := range test.files {
				touch(t, filepath.Join(dir, file))
			}
			args := append([]string{"eval", t.TempDir(), "-i", image}, test.args...)
			got := invocation{args: args, environ: append(environ, test.environ...)}.run(t.Context(), t)
			if got.code != test.code {
				t.Errorf("exit code %d, want %d:\n%s", got.code, test.code, got.err)
			}
			for _, want := range test.want {
				contains(t, got.err, strings.ReplaceAll(want, "DIR", dir))
			}
		})
	}
}

func TestEngineFlags(t *testing.T) {
	t.Parallel()
	dir, environ := machine(t, "docker")
	touch(t, filepath.Join(dir, "docker.pulled"))
	args := []string{"eval", t.TempDir(), "-i", image, "--network", "--as-current-user", "-e=A=b", "--mount=src=" + dir + ",dst=/data", "--image-pull-policy=never"}
	invocation{args: args, environ: environ}.run(t.Context(), t).ok(t)
	log, err := os.ReadFile(filepath.Join(dir, "docker.log"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(log), "--network host", "--mount type=bind,source="+dir+",target=/data,readonly", "-e A=b")
	if strings.Contains(string(log), "pull "+image) {
		t.Errorf("an image was pulled:\n%s", log)
	}
}

// On a terminal, the engine's progress is next to the clock, and its warnings are below the function.
func TestEngineOnTerminal(t *testing.T) {
	t.Parallel()
	_, environ := machine(t, "docker")
	got := invocation{args: []string{"eval", t.TempDir(), "-i", image}, environ: environ, width: 120}.run(t.Context(), t).ok(t)
	contains(t, got.err, "warning", "docker: WARNING: image platform (linux/arm64)")
}
