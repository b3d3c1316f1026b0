// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/functions/plain"
	"github.com/krmfn/krmfn/internal/process/programtest"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/taskhandler/v1/taskhandlerv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/task-handler/options"
)

const (
	policy = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata:
  name: k8sdeny
spec:
  crd: {spec: {names: {kind: K8sDeny}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package k8sdeny
      violation[{"msg": "denied"}] { input.review.object.metadata.name == "a" }
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: K8sDeny
metadata:
  name: deny
`
	rules    = "apiVersion: fn.kpt.dev/v1alpha1\nkind: ValidateCEL\nmetadata: {name: c}\nrules:\n- {expression: 'object.metadata.name != \"a\"', message: no a}\n"
	prints   = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata: {name: c}\nsource: |\n  print('hello')\n  for r in ctx.resource_list['items']: r['metadata']['namespace'] = 'new'\n"
	replaces = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {by-value-regex: 'def(.*)', put-value: 'x${1}'}\n"
	grows    = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata: {name: c}\nsource: |\n  def grow():\n    l = []\n    for i in range(1000): l.append('x' * 100000000 + str(i))\n    print(len(l))\n  grow()\n"
)

// calling returns a package whose pipeline calls a function with a functionConfig.
func calling(function, config string) []string {
	return []string{
		"Kptfile", head + "pipeline:\n  mutators:\n    - image: " + function + "\n      configPath: config.yaml\n",
		"config.yaml", config, "a.yaml", cm, "b.yaml", strings.Replace(cm, "ConfigMap", "Unknown", 1), "policy.yaml", policy,
	}
}

// Every curated function returns the same changes and status as in this process, with valid and invalid configurations.
func TestProgramMatchesInProcess(t *testing.T) {
	t.Parallel()
	handler := client(t, nil)
	for _, f := range functions.All() {
		configs := map[string]string{"rules": rules, "script": prints, "failing script": fail, "search": replaces, "data": cm}
		if _, ok := plain.Functions().Lookup(f.Name); ok {
			configs = map[string]string{"data": cm}
		}
		for name, config := range configs {
			t.Run(f.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				files := calling(f.Name+":v9.9.9", config)
				resp, err := handler.Render(t.Context(), request(files...))
				if err != nil {
					t.Fatal(err)
				}
				got, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(resp.GetResult().GetStatus())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(porchJSON(t, files), normal(t, got)); diff != "" {
					t.Errorf("status (-in process +got):\n%s", diff)
				}
				changes, want := map[string]string{}, map[string]string{}
				for _, c := range resp.GetChanges() {
					changes[c.GetPath()] = string(c.GetContent())
				}
				for _, c := range renderHere(t, files).Output.Changes {
					want[c.Path] = string(c.After)
				}
				if diff := cmp.Diff(want, changes); diff != "" {
					t.Errorf("changes (-in process +got):\n%s", diff)
				}
				called := resp.GetResult().GetFunctions()[0]
				if called.GetEvaluator() != evaluationv1.Evaluator_EVALUATOR_BUILTIN || called.GetImplementation() != f.Implementation() {
					t.Errorf("reported function = %v", called)
				}
			})
		}
	}
}

// A script that exceeds the memory limit makes its render fail. Other renders succeed.
func TestScriptOutOfMemory(t *testing.T) {
	t.Parallel()
	handler := client(t, nil)
	for range 2 {
		for config, want := range map[string]string{grows: "the function needs more than the 64 MiB of memory that it may have", prints: ""} {
			resp, err := handler.Render(t.Context(), request(calling("starlark", config)...))
			if err != nil {
				t.Fatal(err)
			}
			got := resp.GetResult().GetStatus().GetError()
			if strings.Contains(got, "ThreadSanitizer failed to allocate") {
				got = want // the race detector prints another message
			}
			if !strings.Contains(got, want) || (got == "") != (want == "") {
				t.Errorf("error = %q, want %q", got, want)
			}
		}
	}
}

// A package cannot make the task handler send requests.
func TestSchemasHaveNoNetwork(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {schema_location: '" + server.URL + "/{{.ResourceKind}}.json'}\n"
	resp, err := client(t, nil).Render(t.Context(), request(calling("kubeconform", config)...))
	if err != nil {
		t.Fatal(err)
	}
	got, err := protojson.Marshal(resp.GetResult().GetStatus())
	if err != nil {
		t.Fatal(err)
	}
	if want := "is not a permitted schema location"; !strings.Contains(string(got), want) || asked.Load() > 0 {
		t.Errorf("status = %s with %d requests, want %q and none", got, asked.Load(), want)
	}
}

// fakeFunctions creates an executable with one function, which is a script.
func fakeFunctions(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "functions")
	programtest.Write(t, path, `#!/bin/sh
case $1 in
describe) echo '[{"name": "starlark", "version": "v7.0.0"}, {"name": "set-namespace", "version": "v7.0.0"}]' ;;
*) `+script+` ;;
esac
`)
	return path
}

// A killed process makes its render fail. Other renders succeed. Plain functions of the executable are not used.
func TestFunctionIsKilled(t *testing.T) {
	t.Parallel()
	conn, _ := startWith(t, fakeFunctions(t, "kill -KILL $$"), slog.DiscardHandler, nil)
	handler := taskhandlerv1grpc.NewTaskHandlerServiceClient(conn)
	for range 2 {
		resp, err := handler.Render(t.Context(), request(calling("starlark", prints)...))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := resp.GetResult().GetStatus().GetError(), `starlark:latest" failed: signal: killed`; !strings.Contains(got, want) {
			t.Errorf("error = %q, want %q", got, want)
		}
		if got := resp.GetResult().GetFunctions()[0].GetImplementation(); got != "starlark v7.0.0" {
			t.Errorf("implementation = %q", got)
		}
		resp, err = handler.Render(t.Context(), request("Kptfile", shop, "a.yaml", cm))
		if err != nil || resp.GetResult().GetStatus().GetError() != "" {
			t.Errorf("next render = %v, error %v", resp.GetResult(), err)
		}
	}
}

// Without the executable, the function runner evaluates its functions, and the log has a warning.
func TestMissingExecutable(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "functions")
	_, address, _ := startRunner(t)
	for name, tc := range map[string]struct {
		runner, image string
		want          string
		evaluator     evaluationv1.Evaluator
	}{
		"a function runner":      {address, "starlark", "", evaluationv1.Evaluator_EVALUATOR_POD},
		"no function runner":     {"", "starlark", `starlark:latest" not found: the executable of curated functions ` + missing + " is missing", 0},
		"not a curated function": {"", "r.io/starlark", `function "r.io/starlark:latest" not found`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			conn, stop := startWith(t, missing, slog.NewTextHandler(&log, nil), func(o *options.Options) { o.FunctionRunner = tc.runner })
			resp, err := taskhandlerv1grpc.NewTaskHandlerServiceClient(conn).Render(t.Context(), request(calling(tc.image, prints)...))
			if err != nil {
				t.Fatal(err)
			}
			result := resp.GetResult()
			if got := result.GetStatus().GetError(); !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("error = %q, want %q", got, tc.want)
			}
			if got := result.GetFunctions()[0].GetEvaluator(); got != tc.evaluator {
				t.Errorf("evaluator = %v, want %v", got, tc.evaluator)
			}
			// Plain functions need no executable.
			resp, err = taskhandlerv1grpc.NewTaskHandlerServiceClient(conn).Render(t.Context(), request("Kptfile", strings.Replace(shop, "set-namespace\n", "set-namespace:v0.4.5\n", 1), "a.yaml", cm))
			if err != nil || resp.GetResult().GetStatus().GetError() != "" {
				t.Errorf("plain function: result %v, error %v", resp.GetResult(), err)
			}
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(log.String(), missing); got != 1 {
				t.Errorf("log lines about the executable = %d, log:\n%s", got, log.String())
			}
		})
	}
}

// If all processes are busy, renders wait and do not fail.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	handler := client(t, func(o *options.Options) { o.Limits.MaxConcurrent = 20 })
	files := calling("starlark", prints)
	errs := make(chan error)
	for range 20 {
		go func() {
			_, err := handler.Render(t.Context(), request(files...))
			errs <- err
		}()
	}
	for range 20 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
