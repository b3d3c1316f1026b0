// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	dir, digest := newPackage(t, nil), strings.Repeat("a", 64)
	for want, args := range map[string][]string{
		`unknown command "rendr" for "krmfn": did you mean render? See krmfn --help`:          {"rendr"},
		`unknown command "zzzzz" for "krmfn": see krmfn --help`:                               {"zzzzz"},
		`unknown command "sorce" for "krmfn fn": did you mean source? See krmfn fn --help`:    {"fn", "sorce"},
		"unknown flag: --dryrun: did you mean --dry-run? See krmfn render --help":             {"render", "--dryrun"},
		"unknown flag: --colour: did you mean --color? See krmfn version --help":              {"version", "--colour"},
		"unknown flag: --b: see krmfn render --help":                                          {"render", "--b"},
		"unknown shorthand flag: 'z' in -z: see krmfn render --help":                          {"render", "-z"},
		"krmfn has no function \"set-lables\": did you mean set-labels? Otherwise see `krmfn": {"doc", "-i=set-lables"},
		`unknown flag: --bogus: see krmfn render --help`:                                      {"render", "--bogus"},
		"accepts at most 1 arg(s), received 2":                                                {"source", dir, dir},
		"the directory name is empty: name a directory, or leave":                             {"source", ""},
		"the directory name is empty: name a directory that":                                  {"sink", ""},
		"requires at least 1 arg(s), only received 0":                                         {"sink"},
		"image must be specified":                                                             {"doc"},
		`function image reference "r.io/UPPER" is invalid`:                                    {"doc", "-i=r.io/UPPER"},
		`krmfn has no function "set-labels@sha256:` + digest:                                  {"doc", "-i=set-labels@sha256:" + digest},
		"krmfn does not support WebAssembly functions: leave out the flag":                    {"fn", "render", dir, "--allow-alpha-wasm"},
		`unknown command "rendr" for "krmfn fn"`:                                              {"fn", "rendr"},
		"error: lstat /no: no such file or directory\n":                                       {"render", "/no/dir"},
		"web.yaml is not a directory":                                                         {"render", filepath.Join(dir, "web.yaml")},
		"--builtin and --runner exclude each other":                                           {"render", dir, "--builtin", "--runner=x"},
		"--builtin and --isolate exclude each other":                                          {"eval", "-i=set-labels", dir, "--builtin", "--isolate"},
		"--isolate and --runner exclude each other":                                           {"functions", "--isolate", "--runner=x"},
		"--strict-versions applies only to the curated functions":                             {"functions", "--strict-versions", "--runner=x"},
		"--max-request-body-size is 0":                                                        {"render", dir, "--function-runner-grpc-max-message-size=0"},
		"--max-resource-list-size is 1, want at least":                                        {"render", dir, "--max-resource-list-size=1"},
		"--timeout is -1s":                                               {"version", "--timeout=-1s"},
		`--format is "xml", want text or json`:                           {"render", dir, "--format=xml"},
		"--output=stdout and --format=json both want stdout":             {"render", dir, "-o=stdout", "--format=json"},
		"--dry-run works only with changes in place: leave out --output": {"render", dir, "-o=stdout", "--dry-run"},
		"--check works only with changes in place: leave out --output":   {"render", dir, "-o=stdout", "--check"},
		"--plan runs no function and cannot show changes":                {"render", dir, "--plan", "--check"},
		"--plan runs no function and has no output":                      {"render", dir, "--plan", "-o=stdout"},
		"--watch renders in place until it is interrupted":               {"render", dir, "--watch", "--check"},
		"error: lstat /no: no such file or directory":                    {"render", "/no/dir", "--watch"},
		`--format is "yaml", want text or json`:                          {"functions", "-o=yaml"},
		`--format is "toml", want text or json`:                          {"version", "-o=toml"},
		`--color is "blue", want auto, always or never`:                  {"version", "--color=blue"},
		"--runner is \"\\x00\", want host:port":                          {"version", "--runner=\x00"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			got := krmfn(t, args...)
			if got.code != failure.Failed || got.out != "" {
				t.Errorf("got exit code %d and %q", got.code, got.out)
			}
			contains(t, got.err, want)
			if strings.Count(got.err, "\n") != 1 || !strings.HasPrefix(got.err, "error: ") {
				t.Errorf("the error is not one line:\n%s", got.err)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--help"}, {"render", "--help"}, {"eval", "--help"}, {"source", "--help"}, {"sink", "--help"}, {"doc", "--help"}, {"functions", "--help"}, {"version", "--help"}} {
		contains(t, krmfn(t, args...).ok(t).out, "Exit codes:\n  0    success\n", "\n  130  interrupted")
	}
	contains(t, krmfn(t, "completion", "bash").ok(t).out, "bash completion V2 for krmfn")
}

func TestVersionFlag(t *testing.T) {
	t.Parallel()
	got := krmfn(t, "--version").ok(t)
	if want := krmfn(t, "version").ok(t); got != want || !strings.HasPrefix(got.out, "krmfn ") {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		contains(t, krmfn(t, "completion", shell).ok(t).out, "krmfn")
	}
	for want, args := range map[string][]string{
		"set-labels\tsets labels":                           {"eval", "--image", ""},
		"starlark\truns a Starlark":                         {"doc", "-i", ""},
		"text\njson\n:4\n":                                  {"render", "--format", ""},
		"stdout\nunwrap\njson\n:0\n":                        {"fn", "render", "--output", ""},
		"stdout\nunwrap\n:4\n":                              {"source", "-o", ""},
		"text\njson\n:4":                                    {"functions", "-o", ""},
		"sandbox,builtin\nsandbox,docker\nsandbox,engine\n": {"eval", "--runtime", "sandbox,"},
		"Always\nIfNotPresent\nNever\n:4\n":                 {"eval", "--image-pull-policy", ""},
		"auto\nalways\nnever\n:4\n":                         {"sink", "--color", ""},
		"mutator\nvalidator\n:4\n":                          {"eval", "--type", ""},
		":16\nCompletion ended with directive: She":         {"render", ""},
		":16\nCompletion ended with directive":              {"render", "--results-dir", ""},
	} {
		got := krmfn(t, append([]string{"__complete"}, args...)...).ok(t)
		contains(t, got.out+got.err, want)
	}
}

// What kpt accepts and krmfn has no use for changes nothing.
func TestKptFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"fn", "render", "--allow-alpha-wasm=false"},
		{"fn", "render", "-v", "4", "--log_dir=x", "--kubeconfig", "x"},
		{"render", "-v4", "--logtostderr=false", "--log-flush-frequency=1s"},
	} {
		dir := newPackage(t, nil)
		got := krmfn(t, append(args, dir)...).ok(t)
		if diff := cmp.Diff(rendered()["web.yaml"], snapshot(t, dir)["web.yaml"]); diff != "" {
			t.Errorf("%v: (-want +got):\n%s", args, diff)
		}
		if strings.Contains(got.err, "RAN BY") {
			t.Errorf("%v: a log level is taken for --verbose:\n%s", args, got.err)
		}
	}
	got := krmfn(t, "fn", "doc", "-i", prefix+"set-labels:v9.9.9").ok(t)
	contains(t, got.out, "set-labels v", "functionConfig, one of:\n")
	contains(t, got.err, "[WARN] set-labels:v9.9.9 is evaluated by v")
	dir, other := newPackage(t, nil), newPackage(t, nil)
	before := snapshot(t, other)
	contains(t, krmfn(t, "render", dir, other).ok(t).err, `[WARN] argument "`+other+`" is ignored: name one directory`)
	unchanged(t, other, before)
}

func TestNotAPackage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := krmfn(t, "render", dir)
	if got.code != failure.Failed {
		t.Errorf("exit code %d", got.code)
	}
	contains(t, got.err, "Error: No Kptfile found at \""+dir+"\". \n")
	invalid := strings.Replace(kptfile, "image: "+prefix+"set-labels:v0.2", "image: r.io/BAD", 1)
	if err := os.WriteFile(filepath.Join(dir, "Kptfile"), []byte(invalid), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, krmfn(t, "render", dir).err, "Kptfile is invalid:\nField: `pipeline.mutators[0].image`\nValue: \"r.io/BAD\"\nReason: function image reference")
}
