// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// pass is a function without effect.
var pass = Function{
	Name:    "pass",
	Process: func(context.Context, *fn.ResourceList) (bool, error) { return true, nil },
}

func TestRunParsesAndPrints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want, err string }{
		{
			name: "empty input is an empty list",
			in:   "\n \n",
			want: listHead,
		},
		{
			name: "top-level fields that are not a ResourceList's, comments above it and its version are not kept",
			in: `# above
apiVersion: config.kubernetes.io/v1alpha1
kind: ResourceList
metadata:
  name: x
items: []
functionConfig: {}
`,
			want: listHead,
		},
		{
			name: "items are sorted by apiVersion, kind, namespace and name, with compact lists",
			in: `apiVersion: config.kubernetes.io/v1beta1
kind: ResourceList
items:
  - apiVersion: v1
    kind: Service
    metadata: {name: b}
  - apiVersion: v1
    kind: Service
    metadata: {name: a, namespace: z}
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: z}
  # before
  - apiVersion: apps/v1
    kind: Deployment   # the kind
    metadata:
        name:   'd'
    spec:
      on: yes
      list:
        - a
        - {b: "c"}
      folded: >-
        one
        two
      literal: |
        three
      none: ~
functionConfig:
  a: b # kept
`,
			want: listHead + `items:
# before
- apiVersion: apps/v1
  kind: Deployment # the kind
  metadata:
    name: 'd'
  spec:
    on: yes
    list:
    - a
    - {b: "c"}
    folded: >-
      one two
    literal: |
      three
    none: ~
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: z}
- apiVersion: v1
  kind: Service
  metadata: {name: b}
- apiVersion: v1
  kind: Service
  metadata: {name: a, namespace: z}
functionConfig:
  a: b # kept
`,
		},
		{name: "null items", in: listHead + "items:\nfunctionConfig: {a: b}\n", want: listHead + "functionConfig: {a: b}\n"},
		{
			name: "results stay, in the order of the SDK's fields",
			in: listHead + `results:
- severity: info
  message: m
  tags: {a: b}
  unknown: x
  file: {path: f.yaml, index: 3}
  field: {path: spec.x, proposedValue: 2, currentValue: 1}
  resourceRef: {apiVersion: v1, kind: ConfigMap, name: c, namespace: ns}
`,
			want: listHead + `results:
- field:
    currentValue: 1
    path: spec.x
    proposedValue: 2
  file:
    index: 3
    path: f.yaml
  message: m
  resourceRef:
    name: c
    namespace: ns
    apiVersion: v1
    kind: ConfigMap
  severity: info
  tags:
    a: b
`,
		},
		{
			name: "results in the old form",
			in:   listHead + "results:\n  name: f\n  items:\n  - message: m\n",
			want: listHead + "results:\n- message: m\n",
		},
		{
			name: "aliases in metadata and annotations",
			in: listHead + `items:
- apiVersion: v1
  kind: ConfigMap
  x: &meta
    name: a
  metadata: *meta
- apiVersion: v1
  kind: ConfigMap
  data: &data {k: v}
  metadata:
    name: b
    annotations: *data # shared
  other: *data
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
  data:
    a: &a b
    c: *a
`,
			want: listHead + `items:
- apiVersion: v1
  kind: ConfigMap
  x: &meta
    name: a
  metadata:
    name: a
- apiVersion: v1
  kind: ConfigMap
  data: &data {k: v}
  metadata:
    name: b
    annotations: {k: v} # shared
  other: {k: v}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
  data:
    a: &a b
    c: *a
`,
		},
		{
			name: "recursive alias",
			in:   listHead + "items:\n- metadata: &m\n    annotations: *m\n",
			err:  "the resource is too large with its YAML aliases expanded: the limit is 100000 nodes",
		},
		{
			name: "another kind", in: "apiVersion: v1\nkind: List\n",
			err: `input was of unexpected kind "List"; expected ResourceList`,
		},
		{
			name: "two documents", in: listHead + "---\n" + listHead,
			err: "failed to parse ResourceList as a single KubeObject: expected exactly one object, got 2",
		},
		{
			name: "top level is a sequence", in: "- a\n",
			err: "failed to parse ResourceList as a single KubeObject: failed to extract objects: unhandled node kind 2",
		},
		{
			name: "item is not a mapping", in: listHead + "items:\n- a\n",
			err: "failed to extract objects from items: unhandled node kind 8",
		},
		{
			name: "items are not a sequence", in: listHead + "items: a\n",
			err: "failed when tried to get items: incorrect type, was *internal.scalarVariant",
		},
		{
			name: "functionConfig is not a mapping", in: listHead + "functionConfig: a\n",
			err: "failed when tried to get functionConfig: wrong type, got: *internal.scalarVariant",
		},
		{
			name: "invalid YAML", in: "a: b: c\n",
			err: "failed to parse ResourceList as a single KubeObject: failed to parse input bytes: " +
				"yaml: mapping values are not allowed in this context",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, err := Run(t.Context(), pass, []byte(test.in))
			if diff := cmp.Diff(test.want, string(out)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.err, errorText(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunKeepsTheList(t *testing.T) {
	t.Parallel()
	keeps := pass
	keeps.KeepsList = true
	const items = "items:\n- apiVersion: v1\n  kind: B\n- apiVersion: apps/v1\n  kind: A\n- a: b\n"
	const older = "apiVersion: config.kubernetes.io/v1alpha1\nkind: ResourceList\n"
	for name, test := range map[string]struct{ in, want string }{
		"the order of items":    {listHead + items, listHead + items},
		"an older version":      {older + items, older + items},
		"apiVersion last":       {items + "kind: ResourceList\napiVersion: \"a/v1\" # c\n", "apiVersion: a/v1\nkind: ResourceList\n" + items},
		"a version in JSON":     {`{"apiVersion":"a/v1","kind":"ResourceList","items":[]}`, "apiVersion: a/v1\nkind: ResourceList\nitems: []\n"},
		"a version as a block":  {"apiVersion: |-\n  a/v1\nkind: ResourceList\n", "apiVersion: a/v1\nkind: ResourceList\nitems: []\n"},
		"no version":            {"kind: ResourceList\n", listHead + "items: []\n"},
		"no items":              {listHead, listHead + "items: []\n"},
		"an empty list":         {older + "items: []\n", older + "items: []\n"},
		"null, and a parameter": {listHead + "items: null\nfunctionConfig:\n  a: b # c\n", listHead + "items: []\nfunctionConfig:\n  a: b # c\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := Run(t.Context(), keeps, []byte(test.in))
			if diff := cmp.Diff(test.want, string(out)); diff != "" || err != nil {
				t.Errorf("error %v, output (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	item := listHead + "items:\n- kind: A\n"
	for _, test := range []struct {
		name    string
		process process
		out     string
		err     string
	}{
		{
			name: "with results",
			process: func(_ context.Context, rl *fn.ResourceList) (bool, error) {
				rl.Results.Errorf("bad")
				return false, nil
			},
			out: item + "results:\n- message: bad\n  severity: error\n",
			err: "error: function failure",
		},
		{
			name:    "with an error",
			process: func(context.Context, *fn.ResourceList) (bool, error) { return false, broken },
			out:     item,
			err:     "broken",
		},
		{
			name:    "by panicking",
			process: func(context.Context, *fn.ResourceList) (bool, error) { panic(broken) },
			err:     "KRM function panicked with: broken",
		},
		{
			name: "by panicking in the runtime",
			process: func(_ context.Context, rl *fn.ResourceList) (bool, error) {
				return rl.Items[7].IsLocalConfig(), nil
			},
			err: "KRM function panicked with: runtime error: index out of range [7] with length 1",
		},
		{
			name: "with a result that cannot be printed",
			process: func(_ context.Context, rl *fn.ResourceList) (bool, error) {
				rl.Results = append(rl.Results, &fn.Result{Field: &fn.Field{CurrentValue: func() {}}})
				return true, nil
			},
			err: "print the ResourceList: unable to convert strong typed object to yaml node: " +
				"json: unsupported type: func()",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, err := Run(t.Context(), Function{Process: test.process}, []byte(item))
			if diff := cmp.Diff(test.out, string(out)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.err, errorText(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	t.Parallel()
	waits := Function{Name: "waits", Process: func(ctx context.Context, _ *fn.ResourceList) (bool, error) {
		<-ctx.Done()
		return true, nil
	}}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 2 { // the context ends during the first call, and before the second one
			out, err := Run(ctx, waits, []byte(listHead))
			if !errors.Is(err, context.DeadlineExceeded) || out != nil {
				t.Errorf("Run() = %q, %v, want DeadlineExceeded", out, err)
			}
			if !strings.HasPrefix(err.Error(), "evaluate waits: ") {
				t.Errorf("Run() = %q, want a prefix with the function's name", err)
			}
		}
	})
}

// process is the type of Function.Process.
type process = func(context.Context, *fn.ResourceList) (bool, error)

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
