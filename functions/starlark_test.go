// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"bytes"
	"strings"
	"testing"

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
	// Keys are sorted and comments are lost in the items, in the catalog's function too.
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
	evaluateAll(t, "starlark", []evaluation{
		{
			name: "StarlarkRun with params",
			config: `
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
			items: item,
			want: `
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
			name:   "keys come in the same order every time",
			config: "apiVersion: v1\nkind: ConfigMap\ndata: {source: 'ctx.resource_list[\"items\"] = [{\"kind\": \",\".join(ctx.resource_list[\"items\"][0].keys())}]'}\n",
			items:  item,
			want:   "items:\n- kind: apiVersion,data,kind,metadata\n",
		},
		{
			name:   "a date is a string",
			config: "apiVersion: v1\nkind: ConfigMap\ndata: {source: 'len(ctx.resource_list[\"items\"][0][\"data\"][\"date\"])'}\n",
			items:  item,
			want:   printed,
		},
		{
			name:   "a process has an environment, a call has none",
			config: "apiVersion: v1\nkind: ConfigMap\ndata: {source: 'ctx.environment[\"HOME\"]'}\n",
			items:  item,
			want:   failure(`key "HOME" not in dict`),
			err:    failed,
		},
		{
			name:  "no functionConfig",
			items: item,
			want:  failure("FunctionConfig is missing. Expect `ConfigMap` or `StarlarkRun`"),
			err:   failed,
		},
		{
			name:   "another kind of functionConfig",
			config: "apiVersion: foo/v1\nkind: Bar\n",
			items:  item,
			want: failure("'`functionConfig` must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=StarlarkRun, " +
				"but we got: foo/v1, Kind=Bar'"),
			err: failed,
		},
		{
			name:   "no source",
			config: "apiVersion: v1\nkind: ConfigMap\ndata: {}\n",
			items:  item,
			want:   failure("'`source` must not be empty'"),
			err:    failed,
		},
		{
			name:   "data that is no string",
			config: "apiVersion: v1\nkind: ConfigMap\ndata: {source: 1}\n",
			items:  item,
			want: failure("'unable to convert object to *v1.ConfigMap with error: json: cannot unmarshal number into Go struct " +
				"field ConfigMap.data of type string'"),
			err: failed,
		},
		{
			name:   "a syntax error",
			config: "apiVersion: v1\nkind: ConfigMap\ndata: {source: 'x ='}\n",
			items:  item,
			want:   failure("'starlark-function-run:1:4: got end of file, want primary expression'"),
			err:    failed,
		},
		{
			name:   "fail",
			config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {source: 'ctx.resource_list[\"items\"].pop(); fail(\"m\", 3)'}\n",
			items:  item,
			want:   failure("'fail: m 3'"),
			err:    failed,
		},
	})
}

func TestStarlarkPrints(t *testing.T) {
	t.Parallel()
	input := listHead + "functionConfig:\n" + scriptConfig(t, "print('x', 1)\nprint(type(ctx.environment['HOME']))")
	f, _ := Lookup("starlark")
	var stdout, stderr bytes.Buffer
	if code := function.Main(f, nil, strings.NewReader(input), &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if want := "x 1\nstring\n"; stderr.String() != want {
		t.Errorf("stderr = %q, want %q", &stderr, want)
	}
}

func TestStarlarkPrintsNotWithoutEnd(t *testing.T) {
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
		t.Errorf("%d bytes were written, at the end %q", len(text), text[len(text)-100:])
	}
}
