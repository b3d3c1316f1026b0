// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmfn/krmfn/krmfn/internal/engine"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// TestMachine uses the engines of this machine. It skips those that do not answer or cannot run containers.
func TestMachine(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "function")
	for _, name := range engine.Names { //nolint:paralleltest // the subtests share the program
		t.Run(name, func(t *testing.T) {
			client, err := engine.Find(name, os.Environ())
			if err == nil {
				err = client.Ping(t.Context())
			}
			if err != nil {
				t.Skip(err)
			}
			if _, err := os.Stat(program); err != nil {
				build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./testdata/function")
				build.Env = append(os.Environ(), "CGO_ENABLED=0")
				if out, err := build.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			image := load(t, client, program)
			try(t, client, image, program)
			t.Run("limits", func(t *testing.T) { tryLimits(t, client, image) })
		})
	}
}

// load imports an image of the program into the engine.
func load(t *testing.T, client engine.Client, program string) string {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	err = errors.Join(
		w.WriteHeader(&tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}),
		w.WriteHeader(&tar.Header{Name: "fn", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}),
	)
	if err == nil {
		_, err = w.Write(content)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	image := "krmfn.example/" + strings.ToLower(filepath.Base(filepath.Dir(program))) + t.Name()[strings.LastIndex(t.Name(), "/"):] + ":test"
	load := exec.CommandContext(t.Context(), client.Program, "import", "-c", `ENTRYPOINT ["/fn"]`, "-c", `CMD ["arg"]`, "-", image)
	load.Stdin = &layer
	if out, err := load.CombinedOutput(); err != nil {
		t.Skipf("%s cannot import an image: %v: %s", client.Name, err, out)
	}
	t.Cleanup(func() {
		_ = exec.CommandContext(context.WithoutCancel(t.Context()), client.Program, "rmi", image).Run()
	})
	run := exec.CommandContext(t.Context(), client.Program, "run", "--rm", "-i", "--network", "none", image)
	if out, err := run.CombinedOutput(); err != nil {
		t.Skipf("%s cannot run containers: %v: %s", client.Name, err, out)
	}
	return image
}

func try(t *testing.T, client engine.Client, image, program string) {
	t.Helper()
	e := engine.New(client, engine.Options{Entrypoint: program, Env: []string{"FOO=bar"}})
	defer e.Close()
	var hosts []string
	for range 3 {
		found, host, _ := strings.Cut(succeeds(t, e, image), " host=")
		if want := "user=65534 foo=bar arg=arg clean=true apart=true"; found != want {
			t.Errorf("standard error = %q, want %q", found, want)
		}
		hosts = append(hosts, host)
	}
	if hosts[0] != hosts[1] || hosts[0] != hosts[2] {
		t.Errorf("containers = %v, want one", hosts)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	resp, err := evaluate(ctx, e, image, "# hang")
	if err != nil || resp.Report.GetFailure().GetReason() != evaluationv1.FailureReason_FAILURE_REASON_DEADLINE {
		t.Errorf("Evaluate() = %v, error %v; want DEADLINE", resp, err)
	}
	alone := engine.New(client, engine.Options{})
	defer alone.Close()
	if got, want := succeeds(t, alone, image), "user=65534 foo= arg=arg clean=true"; !strings.HasPrefix(got, want) {
		t.Errorf("standard error = %q, want %q", got, want)
	}
	e.Close()
	left, err := exec.CommandContext(t.Context(), client.Program, "ps", "-a", "-q", "--filter", "ancestor="+image).Output()
	if err != nil || len(left) > 0 {
		t.Errorf("containers = %s, error %v; want none", left, err)
	}
}

// tryLimits starts more threads than the limit allows. It only reads the memory limit, because reaching it would use up the machine's
// memory.
func tryLimits(t *testing.T, client engine.Client, image string) {
	t.Helper()
	var warned []string
	e := engine.New(client, engine.Options{Warn: func(text string) { warned = append(warned, text) }})
	defer e.Close()
	resp, err := evaluate(t.Context(), e, image, "# limits")
	if slices.ContainsFunc(warned, func(text string) bool { return strings.Contains(text, "limit") }) {
		t.Skip(warned)
	}
	if got, want := string(resp.Report.GetStderr()), "memory=4294967296 capabilities=\n"; err != nil || !strings.HasSuffix(got, want) {
		t.Errorf("standard error = %q, error %v; want %q", got, err, want)
	}
	resp, err = evaluate(t.Context(), e, image, "# bomb")
	// The Go runtime exits with code 2 if it cannot create a thread.
	if got := string(resp.Report.GetStderr()); err != nil || resp.Report.GetExitCode() != 2 || strings.Contains(got, "NOT BOUNDED") {
		t.Errorf("2000 threads: exit code %d, standard error %.300s, error %v, want exit code 2", resp.Report.GetExitCode(), got, err)
	}
	succeeds(t, e, image)
}
