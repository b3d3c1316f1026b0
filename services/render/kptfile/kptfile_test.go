// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/krmfn/krmfn/services/render/kptfile"
)

const head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"

func TestParse(t *testing.T) {
	t.Parallel()
	kf, err := kptfile.Parse("/app", []byte(head+`pipeline:
  mutators:
    - image: set-labels:v0.2
      name: labels
      configMap: {tier: backend, replicas: 3, ratio: 1.50, on: yes, none: }
      selectors:
        - kind: Deployment
      exclude:
        - labels: {a: b}
---
anything: else
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &kptfilev1.Pipeline{Mutators: []kptfilev1.Function{{
		Image: "set-labels:v0.2",
		Name:  "labels",
		ConfigMap: map[string]string{
			"tier": "backend", "replicas": "3", "ratio": "1.50", "on": "yes", "none": "",
		},
		Selectors:  []kptfilev1.Selector{{Kind: "Deployment"}},
		Exclusions: []kptfilev1.Selector{{Labels: map[string]string{"a": "b"}}},
	}}}
	if diff := cmp.Diff(want, kf.Pipeline); diff != "" {
		t.Errorf("pipeline (-want +got):\n%s", diff)
	}
	if _, err := kptfile.Parse("/app", []byte(`{"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": {"name": "json"}}`)); err != nil {
		t.Errorf("JSON: %v", err)
	}
	if _, err := kptfile.Parse("/app", []byte(strings.ReplaceAll(head, "\n", "\r\n"))); err != nil {
		t.Errorf("CRLF: %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	const unreadable = "Error: Kptfile at \"/app\" can't be read.\n\nDetails:\n"
	for _, tc := range []struct{ name, content, err, explained string }{
		{
			"unknown field", head + "bogus: 1\n",
			"yaml: unmarshal errors:\n  line 5: field bogus not found in type v1.KptFile",
			unreadable + "yaml: unmarshal errors:\n  line 5: field bogus not found in type v1.KptFile",
		},
		{
			"unknown function field", head + "pipeline:\n  mutators:\n  - image: a\n    condition: true\n",
			"yaml: unmarshal errors:\n  line 8: field condition not found in type v1.Function",
			unreadable + "yaml: unmarshal errors:\n  line 8: field condition not found in type v1.Function",
		},
		{
			"unknown metadata", head + "  uid: x\n",
			"yaml: unmarshal errors:\n  line 5: field uid not found in type yaml.ObjectMeta",
			unreadable + "yaml: unmarshal errors:\n  line 5: field uid not found in type yaml.ObjectMeta",
		},
		{
			"old", "apiVersion: kpt.dev/v1alpha2\nkind: Kptfile\nbogus: 1\n",
			`old resource version "v1alpha2" found in Kptfile`,
			"Error: Kptfile at \"/app\" has an old version (\"v1alpha2\") of the Kptfile schema.\n" +
				"Please run \"kpt fn eval <PKG_PATH> -i ghcr.io/kptdev/krm-functions-catalog/fix:latest --include-meta-resources\" " +
				"to upgrade the package and retry.",
		},
		{
			"oldest", "apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\n",
			`old resource version "v1alpha1" found in Kptfile`,
			"Error: Kptfile at \"/app\" has an old version (\"v1alpha1\") of the Kptfile schema.\n" +
				"Please update the package to the latest format by following https://kpt.dev/installation/migration.",
		},
		{
			"other type", "apiVersion: foo/v1\nkind: Kptfile\n",
			`unknown resource type "foo/v1, Kind=Kptfile" found in Kptfile`,
			`Error: Kptfile at "/app" has an unknown resource type ("foo/v1, Kind=Kptfile").`,
		},
		{"empty", "", "the file is empty", unreadable + "the file is empty"},
		{"only comments", "# nothing\n", "the file is empty", unreadable + "the file is empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := kptfile.Parse("/app", []byte(tc.content))
			if err == nil {
				t.Fatal("Parse() = nil, want an error")
			}
			if diff := cmp.Diff(`error reading Kptfile at "/app": `+tc.err, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			explained, ok := kptfile.Explain(fmt.Errorf("pkg.read: %w", err))
			if diff := cmp.Diff(tc.explained, explained); diff != "" || !ok {
				t.Errorf("Explain() ok = %v (-want +got):\n%s", ok, diff)
			}
		})
	}
	for _, content := range []string{"a: [", head + "metadata: {}\n", "- a\n", "just text", head + "pipeline: []\n"} {
		if _, err := kptfile.Parse("/app", []byte(content)); err == nil {
			t.Errorf("Parse(%q) = nil, want an error", content)
		}
	}
	missing := &kptfile.ReadError{Dir: "/app", Err: kptfile.ErrMissing}
	if got, ok := kptfile.Explain(missing); !ok || got != `Error: No Kptfile found at "/app".` {
		t.Errorf("Explain() = %v, %s", ok, got)
	}
	if _, ok := kptfile.Explain(errors.New("other")); ok {
		t.Error("Explain() of an error of another package = true, want false")
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	config := func(path string) error {
		if path != "fc.yaml" {
			return fmt.Errorf("failed to open functionConfig from path %q", path)
		}
		return nil
	}
	for _, tc := range []struct {
		name     string
		function kptfilev1.Function
		want     string
	}{
		{"image", kptfilev1.Function{Image: "r.io:5000/a/set-labels:v1@sha256:85913d4ec8db62053eb060ff1b7e26d13ff8853b75cae4d0461b8a1c7ddd4947"}, ""},
		{"exec with configuration", kptfilev1.Function{Exec: "./fn --x", ConfigPath: "./fc.yaml"}, ""},
		{"neither", kptfilev1.Function{}, "Field: `pipeline.validators[0]`\nReason: must specify a functon (`image` or `exec`) to execute\n"},
		{"both", kptfilev1.Function{Image: "a", Exec: "b"}, "Field: `pipeline.validators[0]`\nReason: must not specify both `image` and `exec` at the same time\n"},
		{"bad image", kptfilev1.Function{Image: "a b"}, "Field: `pipeline.validators[0].image`\nValue: \"a b\"\n" +
			"Reason: function image reference \"a b\" is invalid: invalid reference format\n"},
		{
			"two configurations",
			kptfilev1.Function{Image: "a", ConfigMap: map[string]string{"a": "b"}, ConfigPath: "fc.yaml"},
			"Field: `pipeline.validators[0]`\nReason: functionConfig must not specify both `configMap` and `configPath` at the same time\n",
		},
		{"blank path", kptfilev1.Function{Image: "a", ConfigPath: " "}, "Field: `pipeline.validators[0].configPath`\nValue: \" \"\nReason: path must not be empty\n"},
		{"absolute path", kptfilev1.Function{Image: "a", ConfigPath: "/fc.yaml"}, "Field: `pipeline.validators[0].configPath`\nValue: \"/fc.yaml\"\nReason: path must be relative\n"},
		{"path outside", kptfilev1.Function{Image: "a", ConfigPath: "a/../../fc.yaml"}, "Field: `pipeline.validators[0].configPath`\n" +
			"Value: \"a/../../fc.yaml\"\nReason: path must not be outside the package\n"},
		{"no such file", kptfilev1.Function{Image: "a", ConfigPath: "x.yaml"}, "Field: `pipeline.validators[0].configPath`\nValue: \"x.yaml\"\n" +
			"Reason: failed to open functionConfig from path \"x.yaml\"\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			kf := &kptfilev1.KptFile{Pipeline: &kptfilev1.Pipeline{
				Mutators:   []kptfilev1.Function{{Image: "first"}},
				Validators: []kptfilev1.Function{tc.function},
			}}
			got := ""
			if err := kptfile.Validate(kf, config); err != nil {
				got, _ = kptfile.Explain(err)
			}
			want := tc.want
			if want != "" {
				want = "Kptfile is invalid:\n" + want
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Validate() (-want +got):\n%s", diff)
			}
		})
	}
	if err := kptfile.Validate(&kptfilev1.KptFile{}, nil); err != nil {
		t.Errorf("Validate() without a pipeline = %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(head)
	f.Add(head + "pipeline:\n  mutators:\n  - image: a\n    configMap: {a: b}\n")
	f.Add(head + "info: &a\n  keywords: [*a]\n")
	f.Add("apiVersion: kpt.dev/v1alpha2\nkind: Kptfile\n")
	f.Add("{}\n---\n- [")
	f.Fuzz(func(t *testing.T, content string) {
		kf, err := kptfile.Parse("/app", []byte(content))
		if err != nil {
			if _, ok := kptfile.Explain(err); !ok {
				t.Errorf("Explain(%v) = false, want true", err)
			}
			return
		}
		if kf.Kind != "Kptfile" {
			t.Errorf("Parse() accepts kind %q", kf.Kind)
		}
		_ = kptfile.Validate(kf, func(string) error { return nil })
	})
}
