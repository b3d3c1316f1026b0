// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"bytes"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

func TestStarlark(t *testing.T) {
	t.Parallel()
	const item = `
- kind: ConfigMap
  apiVersion: v1 # lost
  metadata: {name: c}
  data:
    date: 2020-01-01
    z: 'x'
`
	// The output has sorted keys and no comments, as with the catalog's function.
	const printed = `items:
- apiVersion: v1
  data:
    date: "2020-01-01"
    z: x
  kind: ConfigMap
  metadata:
    name: c
`
	failure := func(message string) string {
		return "items:\n" + strings.TrimPrefix(item, "\n") + "results:\n- message: " + message + "\n  severity: error\n"
	}
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name: "StarlarkRun with params",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
metadata: {name: run}
params: {list: [1, {a: b}]}
source: |
  params = ctx.resource_list["functionConfig"]["params"]
  for resource in ctx.resource_list["items"]:
    resource["metadata"]["namespace"] = params["list"][1]["a"]
  ctx.resource_list["items"].append({"kind": "A", "metadata": {"name": "made"}})
`,
			Items: item,
			Want: `
items:
- kind: A
  metadata:
    name: made
- apiVersion: v1
  data:
    date: "2020-01-01"
    z: x
  kind: ConfigMap
  metadata:
    name: c
    namespace: b
`,
		},
		{
			Name:   "keys come in the same order every time",
			Config: "apiVersion: v1\nkind: ConfigMap\ndata: {source: 'ctx.resource_list[\"items\"] = [{\"kind\": \",\".join(ctx.resource_list[\"items\"][0].keys())}]'}\n",
			Items:  item,
			Want:   "items:\n- kind: apiVersion,data,kind,metadata\n",
		},
		{
			Name:   "a date is a string",
			Config: "apiVersion: v1\nkind: ConfigMap\ndata: {source: 'len(ctx.resource_list[\"items\"][0][\"data\"][\"date\"])'}\n",
			Items:  item,
			Want:   printed,
		},
		{
			Name:   "environment only as a process",
			Config: "apiVersion: v1\nkind: ConfigMap\ndata: {source: 'ctx.environment[\"HOME\"]'}\n",
			Items:  item,
			Want:   failure(`key "HOME" not in dict`),
			Err:    functiontest.Failed,
		},
		{
			Name:  "no functionConfig",
			Items: item,
			Want:  failure("FunctionConfig is missing. Expect `ConfigMap` or `StarlarkRun`"),
			Err:   functiontest.Failed,
		},
		{
			Name:   "another kind of functionConfig",
			Config: "apiVersion: foo/v1\nkind: Bar\n",
			Items:  item,
			Want: failure("'`functionConfig` must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=StarlarkRun, " +
				"but we got: foo/v1, Kind=Bar'"),
			Err: functiontest.Failed,
		},
		{
			Name:   "no source",
			Config: "apiVersion: v1\nkind: ConfigMap\ndata: {}\n",
			Items:  item,
			Want:   failure("'`source` must not be empty'"),
			Err:    functiontest.Failed,
		},
		{
			Name:   "data is not a string",
			Config: "apiVersion: v1\nkind: ConfigMap\ndata: {source: 1}\n",
			Items:  item,
			Want:   failure("'unable to read the FunctionConfig: data cannot be a number'"),
			Err:    functiontest.Failed,
		},
		{
			Name:   "lines that begin with a tab",
			Config: "apiVersion: v1\nkind: ConfigMap\ndata:\n  source: |\n    ctx.resource_list['items'][0]['data']['z'] = '\\tx\\n\\ty\\n'\n",
			Items:  item,
			Want:   strings.Replace(printed, "z: x", `z: "\tx\n\ty\n"`, 1),
		},
		{
			Name:   "a syntax error",
			Config: "apiVersion: v1\nkind: ConfigMap\ndata: {source: 'x ='}\n",
			Items:  item,
			Want:   failure("'starlark-function-run:1:4: got end of file, want primary expression'"),
			Err:    functiontest.Failed,
		},
		{
			Name:   "fail",
			Config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {source: 'ctx.resource_list[\"items\"].pop(); fail(\"m\", 3)'}\n",
			Items:  item,
			Want:   failure("'fail: m 3'"),
			Err:    functiontest.Failed,
		},
	})
}

func TestStarlarkPrints(t *testing.T) {
	t.Parallel()
	input := functiontest.Head + "functionConfig:\n" + scriptConfig(t, "print('x', 1)\nprint(type(ctx.environment['HOME']))")
	var stdout, stderr bytes.Buffer
	if code := function.Main(Function, nil, strings.NewReader(input), &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if want := "x 1\nstring\n"; stderr.String() != want {
		t.Errorf("stderr = %q, want %q", &stderr, want)
	}
}

func TestStarlarkLimitsPrintedBytes(t *testing.T) {
	t.Parallel()
	var written strings.Builder
	output := newScriptOutput(&written)
	line := strings.Repeat("x", 1000)
	for range 3 * maxPrinted / len(line) {
		output.print(nil, line)
	}
	output.close()
	output.print(nil, "after the end")
	text := written.String()
	if len(text) > maxPrinted+1000 || !strings.HasSuffix(text, "the rest is dropped\n") {
		t.Errorf("%d bytes were written, ending with %q", len(text), text[len(text)-100:])
	}
}
