// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/krmfn/krmfn/internal/functiontest"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/runtime"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
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
    name: function-input
  data:
    tier: web
`

func TestBuiltinLookup(t *testing.T) {
	t.Parallel()
	f, ok := functiontest.Functions().Lookup("set-labels")
	if !ok {
		t.Fatal("the test functions lack set-labels")
	}
	own := ":" + f.Version
	const digest = "@sha256:85913d4ec8db62053eb060ff1b7e26d13ff8853b75cae4d0461b8a1c7ddd4947"
	for ref, want := range map[string]struct{ found, strictly bool }{
		"set-labels":          {true, true},
		"set-labels" + own:    {true, true},
		"set-labels:unstable": {true, false},
		"set-labels" + digest: {false, false},
		reference.CatalogPrefix + "/set-labels" + own:       {true, true},
		reference.CatalogPrefix + "/set-labels:latest":      {true, false},
		reference.FormerCatalogPrefix + "/set-labels" + own: {true, true},
		"mirror.io/fns/set-labels" + own:                    {true, true},
		"other.io/set-labels" + own:                         {false, false},
		reference.CatalogPrefix + "/x/set-labels":           {false, false},
		reference.CatalogPrefix + "/no-such-function":       {false, false},
		"": {false, false},
		reference.CatalogPrefix + "/set-labels" + own + digest: {false, false},
	} {
		for _, strict := range []bool{false, true} {
			_, err := runtime.Builtin{Functions: functiontest.Functions(), Prefix: "mirror.io/fns/", StrictVersions: strict}.Evaluate(t.Context(),
				evaluation.Request{Image: ref, ResourceList: []byte(list)})
			wantFound := want.found
			if strict {
				wantFound = want.strictly
			}
			var notFound *evaluation.NotFoundError
			if missing := errors.As(err, &notFound); missing == wantFound || (missing && notFound.Image != ref) {
				t.Errorf("Lookup(%q) with StrictVersions=%v: error = %v", ref, strict, err)
			}
			if strict && want.found && !want.strictly && !strings.Contains(err.Error(), "can be used only for the tags "+f.Version) {
				t.Errorf("%q: error = %v, want the tags in it", ref, err)
			}
			if strings.Contains(ref, digest) && !strings.Contains(err.Error(), "set-labels "+f.Version+" cannot be used for an image with a digest") {
				t.Errorf("%q: error = %v, want the reason in it", ref, err)
			}
		}
	}
}

func TestBuiltinEvaluates(t *testing.T) {
	t.Parallel()
	resp, err := runtime.Builtin{Functions: functiontest.Functions()}.Evaluate(t.Context(), evaluation.Request{Image: "set-labels:v9", ResourceList: []byte(list)})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(resp.ResourceList), "tier: web") || resp.Report.GetTimings().GetExecute() == nil {
		t.Errorf("Evaluate() = %s, %v", resp.ResourceList, resp.Report)
	}
	f, _ := functiontest.Functions().Lookup("set-labels")
	if got, want := resp.Report.GetImplementation(), "set-labels "+f.Version; got != want {
		t.Errorf("Implementation = %q, want %q", got, want)
	}
	if got, want := resp.Report.GetWarning(), "set-labels:v9 is evaluated by "+f.Version; got != want {
		t.Errorf("Warning = %q, want %q", got, want)
	}

	resp, err = runtime.Builtin{Functions: functiontest.Functions()}.Evaluate(t.Context(), evaluation.Request{Image: "set-namespace", ResourceList: []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n")})
	if err != nil || resp.ResourceList != nil || resp.Report.GetFailure().GetMessage() == "" || resp.Report.GetExitCode() != 1 {
		t.Errorf("Evaluate() without a functionConfig = %v, %v", resp.Report, err)
	}
	resp, err = runtime.Builtin{Functions: functiontest.Functions()}.Evaluate(t.Context(), evaluation.Request{Image: "set-labels", ResourceList: []byte(list), MaxOutput: 10})
	if err != nil || resp.Report.GetFailure().GetReason() != evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_TOO_LARGE {
		t.Errorf("Evaluate() over the output limit = %v, %v", resp.Report, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := (runtime.Builtin{Functions: functiontest.Functions()}).Evaluate(ctx, evaluation.Request{Image: "set-labels", ResourceList: []byte(list)}); !errors.Is(err, cause) {
		t.Errorf("Evaluate() after cancellation = %v, want the cause", err)
	}
}

func TestBuiltinLists(t *testing.T) {
	t.Parallel()
	f, _ := functiontest.Functions().Lookup("set-labels")
	for strict, want := range map[bool][]string{
		false: {"gcr.io/kpt-fn/set-labels", "ghcr.io/kptdev/krm-functions-catalog/set-labels", "r.io/set-labels", "set-labels"},
		true:  nil,
	} {
		listed, err := runtime.Builtin{Functions: functiontest.Functions(), Prefix: "r.io/", StrictVersions: strict}.ListFunctions(t.Context())
		if err != nil || len(listed) != len(functiontest.Functions()) {
			t.Fatalf("ListFunctions() = %d functions, %v", len(listed), err)
		}
		if strict {
			for _, prefix := range []string{"gcr.io/kpt-fn/", "ghcr.io/kptdev/krm-functions-catalog/", "r.io/", ""} {
				for _, tag := range f.Tags() {
					want = append(want, prefix+"set-labels:"+tag)
				}
			}
		}
		for _, l := range listed {
			if l.GetName() != "set-labels" {
				continue
			}
			if diff := cmp.Diff(len(want), len(l.GetImages())); diff != "" || l.GetAnyTag() == strict {
				t.Errorf("StrictVersions=%v: %v", strict, l)
			}
			for i, img := range l.GetImages() {
				if !strict && img != want[i] {
					t.Errorf("image %d = %s, want %s", i, img, want[i])
				}
			}
		}
	}
}

func TestChainSkipsStrictBuiltin(t *testing.T) {
	t.Parallel()
	known := evaluation.Func(func(_ context.Context, req evaluation.Request) (evaluation.Response, error) {
		return evaluation.Response{ResourceList: req.ResourceList, Report: &evaluationv1.Evaluation{Implementation: "the other"}}, nil
	})
	chain := evaluation.Chain(runtime.Builtin{Functions: functiontest.Functions(), StrictVersions: true}, known)
	resp, err := chain.Evaluate(t.Context(), evaluation.Request{Image: "set-labels:v0.0.0", ResourceList: []byte(list)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&evaluationv1.Evaluation{Implementation: "the other"}, resp.Report, protocmp.Transform()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
