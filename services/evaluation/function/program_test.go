// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
)

func TestMainRunsFunction(t *testing.T) {
	t.Parallel()
	fails := func(_ context.Context, rl *fn.ResourceList) (bool, error) {
		rl.Results.Errorf("bad")
		return false, nil
	}
	panics := func(context.Context, *fn.ResourceList) (bool, error) { panic("oops") }
	for _, test := range []struct {
		name           string
		process        process
		args           []string
		stdin          io.Reader
		stdout, stderr string
		code           int
	}{
		{name: "success", process: pass.Process, stdin: strings.NewReader(listHead), stdout: listHead},
		{
			name: "failure", process: fails, stdin: strings.NewReader(listHead), code: 1,
			stdout: listHead + "results:\n- message: bad\n  severity: error\n",
			stderr: "failed to evaluate function: error: function failure",
		},
		{
			name: "panic", process: panics, stdin: strings.NewReader(listHead), code: 1,
			stderr: "failed to evaluate function: KRM function panicked with: oops",
		},
		{
			name: "no ResourceList", process: pass.Process, stdin: strings.NewReader("kind: Foo\n"), code: 1,
			stderr: `failed to evaluate function: input was of unexpected kind "Foo"; expected ResourceList`,
		},
		{
			name: "stdin that breaks", process: pass.Process, stdin: iotest.ErrReader(errors.New("broken")), code: 1,
			stderr: "failed to evaluate function: unable to read from stdin: broken",
		},
		{
			name: "an argument", process: pass.Process, args: []string{"file.yaml"}, code: 1,
			stderr: `failed to evaluate function: unexpected argument "file.yaml": the input is a ResourceList on stdin`,
		},
		{
			name: "help", process: pass.Process, args: []string{"--help"},
			stdout: `pass v1.0.0 does nothing

Reads a ResourceList from stdin and writes one to stdout.

functionConfig, one of:
  nothing
  anything
`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := Function{
				Name: "pass", Version: "v1.0.0", Summary: "does nothing", Config: "nothing\nanything", Process: test.process,
			}
			var stdout, stderr bytes.Buffer
			code := Main(f, test.args, test.stdin, &stdout, &stderr)
			if code != test.code {
				t.Errorf("exit code = %d, want %d", code, test.code)
			}
			if diff := cmp.Diff(test.stdout, stdout.String()); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.stderr, stderr.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}

// brokenWriter is a closed pipe.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestMainFailsWhenOutputIsClosed(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	code := Main(pass, nil, strings.NewReader(listHead), brokenWriter{}, &stderr)
	if want := "failed to evaluate function: io: read/write on closed pipe"; code != 1 || stderr.String() != want {
		t.Errorf("Main() = %d, stderr %q; want 1, %q", code, &stderr, want)
	}
}

func TestReportedFailure(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]error{
		"":                                  nil,
		"exit status 2":                     nil,
		"a failed to evaluate function: b":  nil,
		"failed to evaluate function: a\nb": errors.New("a\nb"),
		"log\nfailed to evaluate function: not yet\nfailed to evaluate function: a": errors.New("a"),
		"failed to evaluate function: KRM function panicked with: a":                &PanicError{Value: "a"},
	} {
		got := ReportedFailure([]byte(stderr))
		_, panicked := got.(*PanicError)      //nolint:errorlint // it is not wrapped
		_, wantPanicked := want.(*PanicError) //nolint:errorlint // it is not wrapped
		if fmt.Sprint(got) != fmt.Sprint(want) || panicked != wantPanicked {
			t.Errorf("ReportedFailure(%q) = %v, want %v", stderr, got, want)
		}
	}
}
