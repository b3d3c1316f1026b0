// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/functiontest"
	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/runtime"
)

const (
	head     = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app # mine\n"
	pipeline = "pipeline:\n  mutators:\n    - image: set-namespace\n      configMap:\n        namespace: shop\n"
	failing  = "pipeline:\n  mutators:\n    - image: set-labels\n      configMap:\n        a: b\n    - image: fail\n      configPath: fail.yaml\n"
	cm       = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: default # where\n"
	shopCM   = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: shop # where\n"
	failYAML = "apiVersion: fn.kpt.dev/v1alpha1\nkind: Fail\nmetadata:\n  name: fail\n  annotations:\n" +
		"    config.kubernetes.io/local-config: \"true\"\n"
)

// handler returns a handler with small functions.
func handler() *packagerevision.Handler {
	return &packagerevision.Handler{Render: render.Options{Evaluator: runtime.Builtin{Functions: functiontest.Functions()}, NoAttribution: true}}
}

func draftRevision() packagerevision.Revision {
	return packagerevision.Revision{Lifecycle: packagerevision.LifecycleDraft}
}

// faulty is a draft whose host returns errors.
type faulty struct {
	*packagerevision.MemoryDraft
	update, close, discard error
}

func (f *faulty) Update(ctx context.Context, files map[string]string, reason packagerevision.TaskType) error {
	if f.update != nil {
		return f.update
	}
	return f.MemoryDraft.Update(ctx, files, reason)
}

func (f *faulty) Close(ctx context.Context) error {
	if f.close != nil {
		return f.close
	}
	return f.MemoryDraft.Close(ctx)
}

func (f *faulty) Discard(ctx context.Context) error {
	return errors.Join(ctx.Err(), f.discard, f.MemoryDraft.Discard(ctx))
}

func checkFiles(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error = %v, want nil", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error = %v, want %q in it", err, want)
	}
}

func mustFiles(t *testing.T, draft packagerevision.Draft) map[string]string {
	t.Helper()
	files, err := draft.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return files
}
