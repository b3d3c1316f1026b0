// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resourcelist

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/krmfn/krmfn/internal/yamlnode"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"

func TestResults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		output string
		want   []*evaluationv1.Result
		err    string
	}{
		"no results": {output: head + "items:\n- kind: A\n"},
		"form of the specification": {
			output: head + `items: []
results:
- message: bad port
  severity: error
  resourceRef:
    apiVersion: v1
    kind: Service
    name: web
    namespace: prod
  field:
    path: spec.ports[0].port
    currentValue: 99999
    proposedValue: {a: [1, 2]}
  file:
    path: svc.yaml
    index: 1
  tags:
    rule: ports
`,
			want: []*evaluationv1.Result{{
				Message: "bad port", Severity: "error",
				ResourceRef: &evaluationv1.ResourceRef{ApiVersion: "v1", Kind: "Service", Name: "web", Namespace: "prod"},
				Field:       &evaluationv1.Field{Path: "spec.ports[0].port", CurrentValue: "99999", ProposedValue: "{a: [1, 2]}"},
				File:        &evaluationv1.File{Path: "svc.yaml", Index: 1},
				Tags:        map[string]string{"rule": "ports"},
			}},
		},
		"older form": {
			output: head + `results:
  name: check
  items:
  - message: m
    resourceRef:
      kind: Service
      metadata:
        name: web
        namespace: prod
    field:
      path: p
      suggestedValue: 'x '
items: []
`,
			want: []*evaluationv1.Result{{
				Message:     "m",
				ResourceRef: &evaluationv1.ResourceRef{Kind: "Service", Name: "web", Namespace: "prod"},
				Field:       &evaluationv1.Field{Path: "p", ProposedValue: "x"},
			}},
		},
		"JSON": {
			output: `{"kind": "ResourceList", "items": [{"kind": "A"}], "results": [{"message": "m"}]}`,
			want:   []*evaluationv1.Result{{Message: "m"}},
		},
		"null results":        {output: head + "results:\n"},
		"null items":          {output: head + "items: null\n"},
		"aliases":             {output: head + "items:\n- &a {kind: A}\n- *a\n"},
		"a document marker":   {output: "---\n" + head},
		"kind in quotes":      {output: "kind: \"ResourceList\"\n"},
		"empty":               {err: "the output is empty, want a ResourceList"},
		"blank":               {output: " \n\n", err: "the output is empty, want a ResourceList"},
		"not YAML":            {output: "kind: ResourceList\n\tx", err: "the output is not YAML: yaml: "},
		"broken further down": {output: head + "items:\n- a: b\n c: d\n", err: "the output is not YAML: yaml: "},
		"text":                {output: "panic: oh no", err: "the output has no kind, want a ResourceList"},
		"a line of text":      {output: "hello\n", err: "the output is not a mapping, want a ResourceList"},
		"another kind":        {output: "apiVersion: v1\nkind: ConfigMap\n", err: `the output is of kind "ConfigMap", want a ResourceList`},
		"no kind":             {output: "items: []\n", err: "the output has no kind, want a ResourceList"},
		"two documents":       {output: head + "---\n" + head, err: "the output has more than one document, want one ResourceList"},
		"items not a list":    {output: head + "items:\n  a: b\n", err: "the output's items are not a list"},
		"items a scalar":      {output: head + "items: a\n", err: "the output's items are not a list"},
		"an item not a map":   {output: head + "items:\n- a: b\n- c\n", err: "item 1 of the output is not a mapping"},
		"results not a list":  {output: head + "results: no\n", err: "the output's results are not a list"},
		"a result not a map":  {output: head + "results: [no]\n", err: "result 0 of the output is not a mapping"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Results([]byte(tc.output))
			if tc.err != "" || err != nil {
				if err == nil || tc.err == "" || !strings.HasPrefix(err.Error(), tc.err) {
					t.Fatalf("Results() = %v, want %q", err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}

// Kind and results of a large output that the scanner does not recognise are read without the parser.
func TestResultsOfLargeOutput(t *testing.T) {
	t.Parallel()
	const folded = "items:\n- a: b\n  c: d\n    e\n"
	for name, test := range map[string]struct {
		output  string
		want    []*evaluationv1.Result
		wantErr string
	}{
		"results at the end":  {head + folded + "results:\n- message: m\n", []*evaluationv1.Result{{Message: "m"}}, ""},
		"results in between":  {head + "results:\n- message: m\n" + folded, []*evaluationv1.Result{{Message: "m"}}, ""},
		"no results":          {head + folded, nil, ""},
		"another kind":        {"kind: List\n" + folded, nil, `the output is of kind "List", want a ResourceList`},
		"no kind":             {folded, nil, "the output has no kind, want a ResourceList"},
		"a kind in quotes":    {"kind: 'ResourceList'\n" + folded, nil, ""},
		"a kind as a block":   {folded + "kind: |-\n  ResourceList\n", nil, ""},
		"an empty block":      {"0: 00000000000\n" + folded + "kind: |", nil, "the output has no kind, want a ResourceList"},
		"a kind with a tag":   {folded + "kind: !!str ResourceList # c\nx: y", nil, ""},
		"a kind with a name":  {folded + "kind: &k ResourceList", nil, ""},
		"a kind as a list":    {folded + "kind: [a]", nil, "the output has no kind, want a ResourceList"},
		"results are no YAML": {head + folded + "results: [\n", nil, "the output's results are not YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := resultsOf([]byte(test.output), 10)
			if (err == nil) != (test.wantErr == "") || err != nil && !strings.HasPrefix(err.Error(), test.wantErr) {
				t.Errorf("resultsOf() = %v, want %q", err, test.wantErr)
			}
			if diff := cmp.Diff(test.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The scanner must recognise what functions usually print, because the parser is many times slower.
func TestScanRecognisesPrintedLists(t *testing.T) {
	t.Parallel()
	doc := head + `items:
# a comment
- apiVersion: apps/v1
  kind: Deployment # another
  metadata:
    name: web
    annotations:
      config.kubernetes.io/index: '0'
      quoted: "a \"b\" \\ c: d # e"
      single: 'it''s'
      empty: ""
      url: https://example.org/a#b
  spec:
    args:
    - --port=80
    - -1
    - "x: y"
    - - nested
      - list
    wide:
      - a: 1

        b: |
          #!/bin/sh

          key: value
            deeper
      - a: 2
        c: >-
          folded
    none: {}
    nothing:
    also: []
    resources: {limits: {cpu: "1", memory: 1Gi}, requests: {}} # a comment
    flow: [--port=80, 'a, b', [], -1]
    ports:
    - {name: http, port: 80}
    Umlaut: Grüße
functionConfig:
  kind: ConfigMap
results:
- message: hello
`
	got, ok := scan([]byte(doc))
	want := outline{kind: Kind, start: strings.Index(doc, "results:"), end: len(doc)}
	if !ok || got != want {
		t.Errorf("scan() = %+v, %v, want %+v", got, ok, want)
	}
}

// Every byte of a document is checked, at any position.
func TestPrintable(t *testing.T) {
	t.Parallel()
	for at := range 20 {
		for c := range 256 {
			doc := bytes.Repeat([]byte("a"), 20)
			doc[at] = byte(c)
			if got, want := printable(doc), c == '\n' || c >= ' ' && c <= '~'; got != want {
				t.Errorf("printable() with byte %#x at %d = %v, want %v", c, at, got, want)
			}
		}
	}
	if !printable([]byte("ä: 'é–𝄞' # a comment of more than eight bytes\n")) || printable([]byte("key: a\u2028\n")) || printable([]byte("12345678\ufeff")) {
		t.Error("printable() is wrong for characters outside ASCII")
	}
}

// FuzzScan checks that the parser accepts what the scanner accepts, with the same kind and results.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		head + "items:\n- kind: A\n  data:\n    k: v\nresults:\n- message: m\n",
		head + "items:\n  - a: |\n      text\n\n    b: 'x' # c\n", head + "results:\nitems: []\n", "kind: ResourceList\nitems:\n- - a\n",
		head + "items:\n- a: [b, {c: \"d e\"}]\n  f: {g: [-1, 'h']} # i\nresults: [{message: m}]\n", head + "items:\n- {a: b}\n- [a]\n",
		head + "items:\n- a: \"x\\n\"\n  b: >-\n   y\n  z: -\n", "items:\n-  a: b\nkind: ResourceList", head + "a: b\n  c\n", head + "a:\n- b\n - c\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, ok := scan(doc)
		if !ok {
			return
		}
		root, err := parse(doc)
		if err != nil {
			t.Fatalf("scan() accepts a document that the parser rejects: %v", err)
		}
		if kind := text(yamlnode.Lookup(root, "kind")); kind != got.kind && yamlnode.Lookup(root, "kind").Value != got.kind {
			t.Errorf("kind = %q, parser's kind = %q", got.kind, kind)
		}
		if err := checkItems(yamlnode.Lookup(root, "items")); err != nil && got.kind == Kind {
			t.Errorf("scan() accepts invalid items: %v", err)
		}
		want, wantErr := readResults(yamlnode.Lookup(root, "results"))
		results, err := got.results(doc)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("results() = %v, parser's error = %v", err, wantErr)
		}
		if diff := cmp.Diff(want, results, protocmp.Transform()); diff != "" {
			t.Errorf("results (-parser +scanner):\n%s", diff)
		}
	})
}

func BenchmarkResults(b *testing.B) {
	item := `- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: cm
    annotations:
      config.kubernetes.io/path: 'a.yaml'
      internal.config.kubernetes.io/path: 'a.yaml'
  data:
    key: value
    other: "1"
`
	doc := []byte(head + "items:\n" + strings.Repeat(item, 10))
	b.Run("scanner", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			if _, err := Results(doc); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parser", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			if _, err := parse(doc); err != nil {
				b.Fatal(err)
			}
		}
	})
}
