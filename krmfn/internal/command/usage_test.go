// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	for want, args := range map[string][]string{
		`unknown command "rendr" for "krmfn": see krmfn --help`:   {"rendr"},
		`unknown flag: --bogus: see krmfn render --help`:          {"render", "--bogus"},
		"accepts at most 1 arg(s), received 2":                    {"render", dir, dir},
		"error: lstat /no: no such file or directory\n":           {"render", "/no/dir"},
		"web.yaml is not a directory":                             {"render", filepath.Join(dir, "web.yaml")},
		"--builtin and --runner exclude each other":               {"render", dir, "--builtin", "--runner=x"},
		"--builtin and --isolate exclude each other":              {"eval", "-i=set-labels", dir, "--builtin", "--isolate"},
		"--isolate and --runner exclude each other":               {"functions", "--isolate", "--runner=x"},
		"--strict-versions is about the curated functions":        {"functions", "--strict-versions", "--runner=x"},
		"--max-request-body-size is 0":                            {"render", dir, "--function-runner-grpc-max-message-size=0"},
		"--max-resource-list-size is 1, want at least":            {"render", dir, "--max-resource-list-size=1"},
		"--timeout is -1s":                                        {"version", "--timeout=-1s"},
		`--format is "xml", want text or json`:                    {"render", dir, "--format=xml"},
		"--output=stdout and --format=json both want stdout":      {"render", dir, "-o=stdout", "--format=json"},
		"--dry-run is about changes in place: leave out --output": {"render", dir, "-o=stdout", "--dry-run"},
		`--output is "yaml", want text or json`:                   {"functions", "-o=yaml"},
		`--output is "xml", want text or json`:                    {"version", "-o=xml"},
		`--color is "blue", want auto, always or never`:           {"version", "--color=blue"},
		"--runner is \"\\x00\", want host:port":                   {"version", "--runner=\x00"},
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
	for _, args := range [][]string{nil, {"--help"}, {"render", "--help"}, {"eval", "--help"}, {"functions", "--help"}, {"version", "--help"}} {
		contains(t, krmfn(t, args...).ok(t).out, "Exit codes:\n  0    success\n", "\n  130  interrupted")
	}
	contains(t, krmfn(t, "completion", "bash").ok(t).out, "bash completion V2 for krmfn")
	contains(t, krmfn(t, "__complete", "eval", "--image", "").ok(t).out, "set-labels\tsets labels")
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
