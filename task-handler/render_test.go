// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/krmfn/krmfn/functions"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/runtime"
	"github.com/krmfn/krmfn/task-handler/options"
)

const (
	head    = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"
	shop    = head + "pipeline:\n  mutators:\n    - image: set-namespace\n      configMap:\n        namespace: shop\n"
	failing = head + "pipeline:\n  mutators:\n    - image: set-labels\n      configMap:\n        a: b\n    - image: starlark\n      configPath: fail.yaml\n"
	fail    = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: fail\nsource: fail(\"no luck\")\n"
	cm      = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # x\n  namespace: default\n"
)

func request(files ...string) *taskhandlerv1.RenderRequest {
	req := &taskhandlerv1.RenderRequest{}
	for i := 0; i+1 < len(files); i += 2 {
		req.Files = append(req.Files, &taskhandlerv1.File{Path: files[i], Content: []byte(files[i+1])})
	}
	return req
}

func TestRender(t *testing.T) {
	t.Parallel()
	resp, err := client(t, nil).Render(t.Context(), request("Kptfile", shop, "a.yaml", cm, "logo", "\xff"))
	if err != nil {
		t.Fatal(err)
	}
	changes := map[string]string{}
	for _, c := range resp.GetChanges() {
		changes[c.GetPath()] = string(c.GetContent())
	}
	if diff := cmp.Diff(map[string]string{"a.yaml": strings.Replace(cm, "default", "shop", 1)}, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	result := resp.GetResult()
	if len(result.GetFunctions()) != 1 || result.GetFunctions()[0].Item == nil ||
		result.GetFunctions()[0].GetEvaluator() != evaluationv1.Evaluator_EVALUATOR_BUILTIN || result.GetPackage() != "." {
		t.Errorf("result = %v", result)
	}
	if !strings.HasPrefix(result.GetInputHash(), "h1:") || result.GetInputHash() == result.GetOutputHash() {
		t.Errorf("hashes = %q and %q", result.GetInputHash(), result.GetOutputHash())
	}
}

// Output that would delete the Kptfile is an error unless the call accepts it.
func TestAllowDeletion(t *testing.T) {
	t.Parallel()
	handler := client(t, nil)
	files := []string{
		"Kptfile", head + "pipeline:\n  mutators:\n    - image: starlark\n      configPath: fn.yaml\n", "a.yaml", cm,
		"fn.yaml", strings.Replace(fail, `fail("no luck")`, `ctx.resource_list["items"] = [r for r in ctx.resource_list["items"] if r["kind"] != "Kptfile"]`, 1),
	}
	for _, allow := range []bool{false, true} {
		req := request(files...)
		req.Options = &taskhandlerv1.RenderOptions{AllowDeletion: allow}
		resp, err := handler.Render(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		parts := []*taskhandlerv1.RenderStreamRequest{{Part: &taskhandlerv1.RenderStreamRequest_Options{Options: req.Options}}}
		for _, f := range req.Files {
			parts = append(parts, filePart(f.Path, string(f.Content)))
		}
		streamed, err := stream(t, handler, parts...)
		if err != nil {
			t.Fatal(err)
		}
		for way, result := range map[string]*taskhandlerv1.RenderResult{"Render": resp.GetResult(), "RenderStream": streamed.result} {
			if failed := result.GetStatus().GetError() != ""; failed == allow {
				t.Errorf("%s, AllowDeletion=%t: error = %q", way, allow, result.GetStatus().GetError())
			}
		}
	}
}

// The JSON form of the status is the same as in Porch.
func TestStatusJSON(t *testing.T) {
	t.Parallel()
	handler := client(t, nil)
	for name, files := range map[string][]string{
		"success":    {"Kptfile", shop, "a.yaml", cm},
		"failure":    {"Kptfile", failing, "fail.yaml", fail, "a.yaml", cm},
		"no package": {"a.yaml", cm},
		"invalid":    {"Kptfile", head + "bogus: 1\n"},
	} {
		resp, err := handler.Render(t.Context(), request(files...))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(resp.GetResult().GetStatus())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(porchJSON(t, files), normal(t, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// porchJSON renders in this process and returns the status as JSON.
func porchJSON(t *testing.T, files []string) any {
	t.Helper()
	content, err := json.Marshal(renderHere(t, files).Report.RenderStatus)
	if err != nil {
		t.Fatal(err)
	}
	return normal(t, content)
}

// renderHere renders in this process, with all curated functions.
func renderHere(t *testing.T, files []string) render.Result {
	t.Helper()
	byPath := map[string]string{}
	for i := 0; i+1 < len(files); i += 2 {
		byPath[files[i]] = files[i+1]
	}
	source, err := packages.NewMemory(byPath)
	if err != nil {
		t.Fatal(err)
	}
	result, _ := render.Package(t.Context(), source, render.Options{
		Evaluator: runtime.Builtin{Functions: functions.All()}, ImagePrefix: reference.CatalogPrefix, Topmost: true,
	})
	return result
}

// normal returns JSON without empty fields, except those that Porch always writes.
func normal(t *testing.T, content []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(content, &v); err != nil {
		t.Fatal(err)
	}
	return withoutEmpty(v)
}

func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, field := range v {
			field = withoutEmpty(field)
			v[key] = field
			always := key == "error" || key == "exitCode"
			switch f := field.(type) {
			case nil:
				delete(v, key)
			case float64:
				if f == 0 && !always {
					delete(v, key)
				}
			case string:
				if f == "" && !always {
					delete(v, key)
				}
			case []any:
				if len(f) == 0 {
					delete(v, key)
				}
			case map[string]any:
				if len(f) == 0 {
					delete(v, key)
				}
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
	}
	return v
}

func TestRenderFailure(t *testing.T) {
	t.Parallel()
	req := request("Kptfile", failing, "fail.yaml", fail, "a.yaml", cm)
	req.Options = &taskhandlerv1.RenderOptions{WriteStatus: true}
	resp, err := client(t, nil).Render(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	result := resp.GetResult()
	if !strings.HasPrefix(result.GetStatus().GetError(), "fn.render: pkg /:\n\tpkg.render:\n\tpipeline.run: ") ||
		result.GetStatus().GetResult().GetExitCode() != 1 || len(result.GetFunctions()) != 2 || result.GetFunctions()[1].GetError() == "" {
		t.Errorf("result = %v", result)
	}
	if len(resp.GetChanges()) != 1 || !strings.Contains(string(resp.GetChanges()[0].GetContent()), "reason: RenderFailed") {
		t.Errorf("changes = %v", resp.GetChanges())
	}
}

// The hash has the format of go.sum, so that others can compute it.
func TestHash(t *testing.T) {
	t.Parallel()
	resp, err := client(t, nil).Render(t.Context(), request("b", "2\n", "a", "1\n"))
	if err != nil {
		t.Fatal(err)
	}
	// { sha256sum a; sha256sum b; } | sha256sum | xxd -r -p | base64
	const want = "h1:kO/Oqkn0quVyqFeXqSR4ovb/JV5dfuSOjpgpPXKMWAw="
	if got := resp.GetResult().GetInputHash(); got != want || resp.GetResult().GetOutputHash() != want {
		t.Errorf("hash = %s, want %s", got, want)
	}
}

func TestRenderErrors(t *testing.T) {
	t.Parallel()
	handler := client(t, func(o *options.Options) { o.Limits.MaxPackageFiles = 2 })
	for name, tc := range map[string]struct {
		req  *taskhandlerv1.RenderRequest
		code codes.Code
		want string
	}{
		"path outside":   {request("../a", cm), codes.InvalidArgument, `files: path "../a" names no file inside the package`},
		"empty path":     {request("", cm), codes.InvalidArgument, "files[0].path"},
		"twice":          {request("a", cm, "a", cm), codes.InvalidArgument, `files: path "a" appears twice`},
		"file and dir":   {request("a", cm, "a/b", cm), codes.InvalidArgument, `files: path "a" is a file and the directory of "a/b"`},
		"line break":     {request("a\nb", cm), codes.InvalidArgument, "files: "},
		"too many files": {request("a", "", "b", "", "c", ""), codes.ResourceExhausted, "the package has more files than max (3 vs. 2), see --max-package-files"},
	} {
		_, err := handler.Render(t.Context(), tc.req)
		if status.Code(err) != tc.code || !strings.Contains(status.Convert(err).Message(), tc.want) {
			t.Errorf("%s: error = %v, want %v and %q", name, err, tc.code, tc.want)
		}
	}
}
