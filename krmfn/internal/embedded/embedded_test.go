// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/krmfn/internal/embedded"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/remote"
	"github.com/krmfn/krmfn/services/images/reference"
)

// The test's program is what the runner starts as functions.
func TestMain(m *testing.M) {
	if code, ok := embedded.RunFunction(os.Args, os.Stdin, os.Stdout, os.Stderr); ok {
		syscall.Exit(code) // os.Exit would let the race detector look back for a second, in each function
	}
	goleak.VerifyTestMain(m)
}

func config(t *testing.T) embedded.Config {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return embedded.Config{
		Executable: executable, ImagePrefix: "mirror.io/fns", MaxMessageSize: 1 << 20, MaxListSize: 1 << 20, Environ: os.Environ(),
	}
}

// start starts a runner and connects to it.
func start(t *testing.T, c embedded.Config) *remote.Client {
	t.Helper()
	r, err := embedded.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(r.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(conn.Close(), r.Close()); err != nil {
			t.Error(err)
		}
		dir := filepath.Dir(strings.TrimPrefix(r.Target(), "unix://"))
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	})
	return remote.New(conn, remote.Limits{})
}

const list = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: config
  data:
    app: web
`

func TestEvaluate(t *testing.T) {
	t.Parallel()
	evaluator := start(t, config(t))
	for _, ref := range []string{
		"set-labels", "set-labels:v9", "mirror.io/fns/set-labels:v1", reference.FormerCatalogPrefix + "/set-labels:unstable",
	} {
		resp, err := evaluator.Evaluate(t.Context(), evaluation.Request{Image: ref, ResourceList: []byte(list)})
		if err != nil || resp.Report.GetFailure() != nil {
			t.Errorf("%s: got %v and error %v", ref, resp.Report, err)
			continue
		}
		if !strings.Contains(string(resp.ResourceList), "app: web\n") || resp.Report.GetEvaluator() != evaluationv1.Evaluator_EVALUATOR_EXEC {
			t.Errorf("%s: got %s by %v", ref, resp.ResourceList, resp.Report)
		}
		f, _ := functions.Lookup("set-labels")
		if got := resp.Report.GetImplementation(); got != f.Name+" "+f.Version+" "+embedded.Origin || !strings.Contains(got, f.Version) {
			t.Errorf("%s: the implementation is %q", ref, got)
		}
		_, tag, _ := reference.Split(ref)
		if got := resp.Report.GetWarning(); (tag != "") != strings.HasSuffix(got, tag+" is evaluated by "+f.Version) || tag == "" && got != "" {
			t.Errorf("%s: the warning is %q", ref, got)
		}
	}
	digest := "@sha256:" + strings.Repeat("ab", 32)
	for _, ref := range []string{"other.io/set-labels", "set-labels" + digest, reference.CatalogPrefix + "/set-labels:v0.2.0" + digest} {
		_, err := evaluator.Evaluate(t.Context(), evaluation.Request{Image: ref, ResourceList: []byte(list)})
		if !errors.As(err, new(*evaluation.NotFoundError)) {
			t.Errorf("%s: got error %v, want that it is not found", ref, err)
		}
	}
}

func TestListFunctions(t *testing.T) {
	t.Parallel()
	listed, err := start(t, config(t)).ListFunctions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := functions.All()
	if len(listed) != len(all) {
		t.Fatalf("%d functions are listed, want %d", len(listed), len(all))
	}
	for i, f := range listed {
		if f.GetName() != all[i].Name || !f.GetAnyTag() || len(f.GetImages()) != 3 {
			t.Errorf("got %v, want %s", f, all[i].Name)
		}
	}
}

func TestStrictVersions(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.StrictVersions = true
	evaluator := start(t, c)
	f, _ := functions.Lookup("set-labels")
	for tag, known := range map[string]bool{f.Version: true, "v9.9": false, "latest": false} {
		_, err := evaluator.Evaluate(t.Context(), evaluation.Request{Image: reference.CatalogPrefix + "/set-labels:" + tag, ResourceList: []byte(list)})
		if known != (err == nil) || !known && !errors.As(err, new(*evaluation.NotFoundError)) {
			t.Errorf("tag %s: got error %v", tag, err)
		}
	}
}

// The runner goes on while calls end; only Close stops it.
func TestOutlivesItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := embedded.Start(ctx, config(t))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	conn, err := grpc.NewClient(r.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.New(conn, remote.Limits{}).ListFunctions(t.Context()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(conn.Close(), r.Close()); err != nil {
		t.Error(err)
	}
}

func TestLongTemporaryDirectory(t *testing.T) {
	tmp := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	_, err := embedded.Start(t.Context(), config(t))
	if err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("got error %v, want one that says what to do", err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind, error %v", left, err)
	}
}

func TestNoTemporaryDirectory(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	if _, err := embedded.Start(t.Context(), config(t)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v", err)
	}
}

func TestRunFunction(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"none": nil, "another name": {"/usr/bin/krmfn", "set-labels"}} {
		if _, ok := embedded.RunFunction(args, nil, nil, nil); ok {
			t.Errorf("%s: a function was run", name)
		}
	}
	var out strings.Builder
	if code, ok := embedded.RunFunction([]string{"/tmp/x/set-labels"}, strings.NewReader(list), &out, &out); !ok || code != 0 || !strings.Contains(out.String(), "app: web") {
		t.Errorf("got %s, %d, %v", out.String(), code, ok)
	}
}
