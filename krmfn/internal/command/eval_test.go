// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/report"
)

const (
	configMap  = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	listInput  = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n"
	itemOutput = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n    labels:\n      app: web\n"
	// docOutput is of an item that was a document.
	docOutput = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n    annotations:\n      config.kubernetes.io/index: '0'\n      internal.config.kubernetes.io/index: '0'\n" +
		"      internal.config.kubernetes.io/seqindent: 'compact'\n      internal.config.kubernetes.io/path: 'configmap_a.yaml'\n      config.kubernetes.io/path: 'configmap_a.yaml'\n    labels:\n      app: web\n"
	// threeItems have no path.
	threeItems = listInput + "- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: b\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: c\n"
)

func TestEvalStandardInput(t *testing.T) {
	t.Parallel()
	labels := "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nmetadata:\n  name: own\nlabels:\n  app: own\n"
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte(labels), 0o600); err != nil {
		t.Fatal(err)
	}
	ownConfig := listInput + "functionConfig:\n  " + strings.ReplaceAll(strings.TrimSpace(labels), "\n", "\n  ") + "\n"
	for name, tc := range map[string]struct {
		stdin string
		args  []string
		want  []string
	}{
		"a ResourceList":         {listInput, []string{"--", "app=web"}, []string{"kind: ResourceList\nitems:\n" + itemOutput}},
		"documents":              {configMap + "---\n" + strings.Replace(configMap, "name: a", "name: b", 1), []string{"--", "app=web"}, []string{docOutput, "    name: b\n"}},
		"a selection":            {threeItems, []string{"--match-kind=ConfigMap", "--", "app=web"}, []string{strings.Replace(threeItems, "    name: a\n", "    name: a\n    labels:\n      app: web\n", 1)}},
		"nothing selected":       {threeItems, []string{"--match-kind=None", "--", "app=web"}, []string{threeItems}},
		"indentation":            {configMap + "data:\n  l:\n    - x\n", []string{"-o", "unwrap", "--match-kind=None", "--", "app=web"}, []string{configMap + "data:\n  l:\n    - x\n"}},
		"unwrapped":              {listInput, []string{"-o", "unwrap", "--", "app=web"}, []string{configMap + "  labels:\n    app: web\n"}},
		"stdout":                 {listInput, []string{"-o", "stdout", "--", "app=web"}, []string{itemOutput}},
		"a config file":          {ownConfig, []string{"--fn-config", config}, []string{"app: own"}},
		"its own configuration":  {ownConfig, nil, []string{"app: own"}},
		"values in its place":    {ownConfig, []string{"--", "app=web"}, []string{itemOutput}},
		"another kind":           {listInput, []string{"--image=set-labels", "--", "ConfigMap", "app=web"}, []string{itemOutput}},
		"a value with = in it":   {listInput, []string{"--image=set-annotations", "--", "x=a=b"}, []string{"      x: a=b"}},
		"a tag":                  {listInput, []string{"--image=set-labels:v0", "--tag=v0.2", "--", "app=web"}, []string{itemOutput}},
		"a sequence beside it":   {configMap + "---\n- a: 1\n- b: 2\n", []string{"-o", "unwrap", "--match-kind=ConfigMap", "--", "app=web"}, []string{configMap + "  labels:\n    app: web\n---\n- a: 1\n- b: 2\n"}},
		"a sequence in a list":   {"- a: 1\n", []string{"--match-kind=ConfigMap", "--", "app=web"}, []string{"- bareSeqNodeWrappingKey:\n  - a: 1\n"}},
		"an empty list is input": {"kind: ResourceList\nitems: []\n", []string{"--", "app=web"}, []string{"kind: ResourceList\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"eval", "--image=set-labels", "-"}, tc.args...)
			got := invocation{args: args, stdin: tc.stdin}.run(t.Context(), t).ok(t)
			contains(t, got.out, tc.want...)
		})
	}
}

// Through the embedded runner, with its summary.
func TestEvalOutput(t *testing.T) {
	t.Parallel()
	got := invocation{args: []string{"eval", "-i", "set-labels", "-", "--", "app=web"}, stdin: listInput}.run(t.Context(), t).ok(t)
	golden(t, "eval.txt", timeless(got.out+"stderr:\n"+got.err))
	failed := invocation{args: []string{"eval", "-i", "set-labels", "-"}, stdin: listInput}.run(t.Context(), t)
	if failed.code != failure.Failed || failed.out != "" {
		t.Errorf("got exit code %d and %q", failed.code, failed.out)
	}
	golden(t, "eval-fail.txt", timeless(failed.err))
}

func TestEvalFiles(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, map[string]string{"net/service.yaml": service + "  type: 5\n"})
	before := snapshot(t, dir)
	args := []string{"eval", "--image", "kubeconform", filepath.Join(dir, "web.yaml"), filepath.Join(dir, "net/service.yaml")}
	got := krmfn(t, args...)
	if got.code != failure.Failed {
		t.Errorf("exit code %d", got.code)
	}
	contains(t, got.err, "[error] v1/Service/web spec.type: got number")
	doc := document(t, krmfn(t, append(args, "-o=json")...))
	if file := doc.Functions[0].Results[0].File; file == nil || file.Path != "service.yaml" {
		t.Errorf("the result is about file %+v", file)
	}
	target := filepath.Join(t.TempDir(), "out")
	krmfn(t, "eval", "--image", "set-labels", filepath.Join(dir, "web.yaml"), "-o", target, "--", "app=web").ok(t)
	contains(t, snapshot(t, target)["web.yaml"], "kind: Deployment", "    app: web\n")
	unchanged(t, dir, before)
}

func document(t *testing.T, o outcome) report.Document {
	t.Helper()
	var doc report.Document
	if err := json.Unmarshal([]byte(o.out), &doc); err != nil {
		t.Fatalf("%v in\n%s\nstandard error:\n%s", err, o.out, o.err)
	}
	return doc
}

func TestEvalJSON(t *testing.T) {
	t.Parallel()
	got := invocation{args: []string{"eval", "--image=set-labels", "-", "-o=json", "--", "app=web"}, stdin: listInput}.run(t.Context(), t).ok(t)
	doc := document(t, got)
	contains(t, doc.ResourceList, itemOutput)
	if len(doc.Functions) != 1 || doc.Functions[0].Image != prefix+"set-labels" || doc.Functions[0].Evaluator != "builtin" {
		t.Errorf("functions are %+v", doc.Functions)
	}
	failed := document(t, invocation{args: []string{"eval", "--image=set-labels", "-", "-o=json"}, stdin: listInput}.run(t.Context(), t))
	if failed.RenderStatus.Error == "" || failed.ResourceList != "" || failed.Functions[0].ExitCode != 1 {
		t.Errorf("got %+v", failed)
	}
}

func TestEvalDirectory(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, map[string]string{"sub/Kptfile": "apiVersion: kpt.dev/v1alpha2\nkind: Kptfile\nmetadata:\n  name: sub\n", "sub/c.yaml": configMap, "labels.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: labels\ndata:\n  tier: front\n"})
	before := snapshot(t, dir)
	eval := func(args ...string) outcome {
		return krmfn(t, append([]string{"eval", dir, "--image=set-labels"}, args...)...).ok(t)
	}
	dry := eval("--dry-run", "--", "tier=front")
	contains(t, dry.out, "+++ b/sub/c.yaml", "+    tier: front")
	unwrapped := eval("-o", "unwrap", "--", "tier=front")
	contains(t, unwrapped.out, "kind: Kptfile\nmetadata:\n  name: shop\n  labels:\n    tier: front\n", "  name: sub\n  labels:\n    tier: front\n")
	target := filepath.Join(t.TempDir(), "out")
	eval("-o", target, "--", "tier=front")
	unchanged(t, dir, before)

	inPlace := eval("--verbose", "--fn-config", filepath.Join(dir, "labels.yaml"))
	contains(t, inPlace.err, "5 files changed: 5 modified.")
	after := snapshot(t, dir)
	for _, same := range []string{"labels.yaml", "README.md"} {
		if after[same] != before[same] {
			t.Errorf("%s changed:\n%s", same, after[same])
		}
	}
	contains(t, after["sub/c.yaml"], "    tier: front\n")
	if diff := cmp.Diff(after["web.yaml"], snapshot(t, target)["web.yaml"]); diff != "" {
		t.Errorf("in place and in a directory differ:\n%s", diff)
	}
	if doc := document(t, eval("-o=json", "--", "tier=back")); len(doc.ChangedFiles) != 6 || !doc.Written {
		t.Errorf("got %+v", doc)
	}
}

func TestEvalUsage(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, map[string]string{"two.yaml": configMap + "---\n" + configMap})
	for want, tc := range map[string]struct {
		stdin string
		args  []string
	}{
		"must specify --image or --exec":                                                                       {args: []string{"-"}},
		"function arguments can only be specified without function config file":                                {args: []string{"-i=a", "--fn-config=x", "--", "a=b"}},
		"missing function config file: /no/file":                                                               {args: []string{"-i=a", "--fn-config=/no/file"}},
		"must not contain more than one config, got 2":                                                         {args: []string{"-i=a", "--fn-config", filepath.Join(dir, "two.yaml")}},
		"args must have keys and values separated by =, got \"b\"":                                             {args: []string{"-i=a", "--", "ConfigMap", "b"}},
		"function image reference \"r.io/UPPER\" is invalid":                                                   {args: []string{"-i=r.io/UPPER", "-"}},
		"must be a valid image tag":                                                                            {args: []string{"-i=a", "--tag=a/b", "-"}},
		"there are no resources in the standard input":                                                         {args: []string{"-i=a", "-"}},
		"the directory name is empty: name a directory, or leave it out to use the current one":                {args: []string{"-i=a", ""}},
		"lstat /no: no such file or directory":                                                                 {args: []string{"-i=a", "/no/such.yaml"}},
		"0 or 1 arguments supported, function arguments go after '--'":                                         {args: []string{"-i=a", dir, "-"}, stdin: configMap},
		"--include-meta-resources is no longer necessary because meta resources are now included by default":   {args: []string{"-i=a", "-m"}},
		"--type must be specified if saving functions to Kptfile (--save=true)":                                {args: []string{"-i=a", "-s"}},
		"--type must be either `mutator` or `validator`":                                                       {args: []string{"-i=a", "-s", "-t=x"}},
		"--fn-config must be under " + dir + " if saving functions to Kptfile (--save=true)":                   {args: []string{"-i=a", "-s", "-t=mutator", "--fn-config=testdata/config.yaml", dir}},
		"--mount, --as-current-user, --network and --env can only be used with container functions":            {args: []string{"--exec=a", "-e=A=b"}},
		"--match-labels must have keys and values separated by =, got \"a\"":                                   {args: []string{"-i=a", "--match-labels=a"}},
		"invalid argument \"x\" for \"--image-pull-policy\" flag: must be one of: Always, IfNotPresent, Never": {args: []string{"-i=a", "--image-pull-policy=x"}},
		"--save changes the Kptfile of a directory":                                                            {args: []string{"-i=a", "-s", "-t=mutator", "-"}},
		"--dry-run works only with changes in place: name a directory":                                         {args: []string{"-i=a", "--dry-run", "-"}, stdin: configMap},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			got := invocation{args: append([]string{"eval"}, tc.args...), stdin: tc.stdin}.run(t.Context(), t)
			if got.code != failure.Failed {
				t.Errorf("exit code %d", got.code)
			}
			contains(t, got.err, want)
		})
	}
}

// What the inputs hold is no matter of the command line.
func TestEvalBadInput(t *testing.T) {
	t.Parallel()
	for want, stdin := range map[string]string{
		"the standard input: MalformedYAMLError: ":                                                "a: [\n",
		"there is text after a document end marker (...)":                                         configMap + "...\ndata: {}\n",
		"resource must have `apiVersion`":                                                         "kind: A\nmetadata:\n  name: a\n",
		"resource 0 has an anchor that contains itself":                                           configMap + "data: &x [b, {c: *x}]\n",
		"the functionConfig has an anchor that contains itself":                                   listInput + "functionConfig: &x {a: *x}\n",
		"the standard input: resource 0: cannot annotate the resource: metadata is not a mapping": "apiVersion: v1\nkind: A\nmetadata: [a]\n",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			got := invocation{args: []string{"eval", "-i=set-labels", "-", "--", "a=b"}, stdin: stdin}.run(t.Context(), t)
			if got.code != failure.Failed {
				t.Errorf("exit code %d", got.code)
			}
			contains(t, got.err, want)
		})
	}
}

// What deletes nothing may be empty.
func TestEvalEmptyOutput(t *testing.T) {
	t.Parallel()
	const empty = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
	const none = `--exec=sh -c "cat >/dev/null; echo kind: ResourceList"`
	const nothing = `--exec=sh -c "cat >/dev/null"`
	const list = `--exec=sh -c "cat >/dev/null; echo kind: ResourceList; echo 'items: []'"`
	for name, tc := range map[string]struct {
		args  []string
		want  string
		fails bool
		left  string // the directory's file; empty for none
	}{
		"standard input":                       {args: []string{"-", none}, want: empty, left: configMap},
		"standard input, unwrapped":            {args: []string{"-", none, "-o=unwrap"}, left: configMap},
		"standard input, an empty list":        {args: []string{"-", list}, want: empty, left: configMap},
		"nothing on standard input":            {args: []string{"-", nothing}, want: empty, left: configMap},
		"nothing in place":                     {args: []string{"DIR", nothing}, fails: true, left: configMap},
		"nothing in place, permitted":          {args: []string{"DIR", nothing, "--allow-deletion"}},
		"a directory to stdout":                {args: []string{"DIR", none, "-o=stdout"}, want: empty, left: configMap},
		"a directory, unwrapped":               {args: []string{"DIR", none, "-o=unwrap"}, left: configMap},
		"a directory in place":                 {args: []string{"DIR", none}, fails: true, left: configMap},
		"a dry run":                            {args: []string{"DIR", none, "--dry-run"}, fails: true, left: configMap},
		"a directory in place, permitted":      {args: []string{"DIR", none, "--allow-deletion"}},
		"a directory in place, an empty list":  {args: []string{"DIR", list}},
		"a directory in place, of a selection": {args: []string{"DIR", none, "--match-kind=Pod"}, left: configMap},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(configMap), 0o600); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"eval"}, tc.args...)
			args[1] = strings.Replace(args[1], "DIR", dir, 1)
			got := invocation{args: args, stdin: listInput}.run(t.Context(), t)
			if (got.code != failure.OK) != tc.fails || got.out != tc.want {
				t.Errorf("exit code %d, got %s, standard error:\n%s", got.code, got.out, got.err)
			}
			if tc.fails {
				contains(t, got.err, "the output has no items, which would delete all resources that the function got", "--allow-deletion")
			}
			if left := snapshot(t, dir)["a.yaml"]; left != tc.left {
				t.Errorf("left is %q", left)
			}
		})
	}
}

// What failed before, or after, a function ran has failed in the document, too.
func TestEvalFailuresInJSON(t *testing.T) {
	t.Parallel()
	for want, function := range map[string]string{
		`exec command "sh -c 'x" must be valid`: "--exec=sh -c 'x",
		"not found":                             "--image=r.io/no/such:v1",
		"must contain only KRM resources":       `--exec=sed "s/kind: ConfigMap/a: b/"`,
	} {
		got := invocation{args: []string{"eval", "-", function, "-o=json"}, stdin: listInput}.run(t.Context(), t)
		doc := document(t, got)
		contains(t, doc.RenderStatus.Error, want)
		if list := doc.RenderStatus.Result; got.code != failure.Failed || list.ExitCode != 1 || len(list.Items) != 1 || list.Items[0].ExitCode != 1 || doc.Functions[0].ExitCode != 1 {
			t.Errorf("%s: got %+v", want, doc)
		}
	}
}
