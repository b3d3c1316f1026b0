// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/task-handler/options"
)

func TestParse(t *testing.T) {
	t.Parallel()
	want, err := options.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	want.FunctionRunner, want.Limits.MaxMessageSize = "runner:9445", 1<<20
	for _, args := range [][]string{
		{"--function-runner=runner:9445", "--max-request-body-size=1048576"},
		{"--function-runner-address", "runner:9445", "--function-runner-grpc-max-message-size", "1048576"},
	} {
		got, err := options.Parse(args)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got):\n%s", args, err, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--bogus":                       "unknown flag: --bogus",
		"extra":                         `unexpected argument "extra"`,
		"--port=70000 --log-format=xml": `--port is "70000", want 0 to 65535; --log-format is "xml", want json or text`,
		"--builtin-functions=false":     "there is no evaluator",
		"--tls-key-file=k":              "--tls-key-file needs --tls-cert-file",
		"--runner-ca=a":                 "need a function runner: name it with --runner",
		"--max-package-size=1":          `--max-package-size is "1", want at least --max-request-body-size`,
		"--max-render-time=-1s --max-queued-renders=-1":   `--max-render-time is "-1s", want more than 0; --max-queued-renders is "-1", want 0 or more`,
		"--default-image-prefix=https://r.io":             `--default-image-prefix is "https://r.io"`,
		"--max-parallel-packages=0 --max-package-files=0": `--max-package-files is "0", want more than 0; --max-parallel-packages is "0", want more than 0`,
	} {
		if _, err := options.Parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s) = %v, want %s", args, err, want)
		}
	}
}
