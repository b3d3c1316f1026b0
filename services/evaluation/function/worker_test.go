// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/internal/traits"
	"github.com/krmfn/krmfn/internal/workerprotocol"
)

// With the environment variable FUNCTION, the test binary is a function.
func TestMain(m *testing.M) {
	if name := os.Getenv("FUNCTION"); name != "" {
		f := Function{Name: name, Version: "v1.0.0", Traits: traits.Traits{Worker: name != "shy"}, Process: misbehave}
		syscall.Exit(Main(f, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) // os.Exit would run the exit code of the race detector
	}
	os.Exit(m.Run())
}

var stuck chan struct{}

// misbehave does what the kind of the first item says. Some kinds use streams that a function should not use.
func misbehave(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	switch rl.Items[0].GetKind() {
	case "Prints":
		fmt.Println("to standard output")
		fmt.Fprint(ProgramOf(ctx).Stderr, "of a script")
	case "Reads":
		text, err := io.ReadAll(os.Stdin)
		fmt.Printf("%d bytes, %v", len(text), err)
	case "Fails":
		rl.Results.Errorf("bad")
		return false, nil
	case "Panics":
		panic("oops")
	case "Stays":
		go func() { <-stuck }()
	case "Settles":
		go func() {}()
	}
	return true, nil
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	const failed = "failed to evaluate function: "
	for kind, test := range map[string]struct {
		code           int
		stdout, stderr string
		last           bool
	}{
		"Fine":    {},
		"Prints":  {stderr: "to standard output\nof a script"},
		"Reads":   {stderr: "0 bytes, <nil>"},
		"Fails":   {code: 1, stdout: "results:\n- message: bad\n  severity: error\n", stderr: failed + "error: function failure"},
		"Panics":  {code: 1, stderr: failed + "KRM function panicked with: oops", last: true},
		"Stays":   {last: true},
		"Settles": {},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var requests, stderr bytes.Buffer
			list := listHead + "items:\n- kind: " + kind + "\n"
			for range 3 {
				if err := workerprotocol.WriteRequest(&requests, []byte(list)); err != nil {
					t.Fatal(err)
				}
			}
			out, code := runFunction(t, "worker", &requests, &stderr, workerprotocol.Argument)
			if code != 0 {
				t.Errorf("exit code of the worker = %d, want 0", code)
			}
			if err := workerprotocol.ReadGreeting(out); err != nil {
				t.Fatal(err)
			}
			answers := 3
			if test.last {
				answers = 1
			}
			for range answers {
				answer, err := workerprotocol.ReadAnswer(out, 1000)
				want := workerprotocol.Answer{ExitCode: test.code, Stdout: []byte(list + test.stdout)}
				if kind == "Panics" {
					want.Stdout = []byte{}
				}
				if diff := cmp.Diff(want, answer); err != nil || diff != "" {
					t.Errorf("ReadAnswer(): error %v (-want +got):\n%s", err, diff)
				}
			}
			if out.Len() > 0 {
				t.Errorf("output after %d answers: %q", answers, out)
			}
			if diff := cmp.Diff(strings.Repeat(test.stderr, answers), stderr.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}

// A function that does not declare Worker rejects --worker. One that does answers one call without --worker.
func TestWorkerArgumentRequiresDeclaration(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	out, code := runFunction(t, "shy", strings.NewReader(""), &stderr, workerprotocol.Argument)
	if code != 1 || out.Len() > 0 || !strings.Contains(stderr.String(), workerprotocol.Argument) {
		t.Errorf("exit code %d, stdout %q, stderr %q; want 1 and a message", code, out, &stderr)
	}
	list := listHead + "items:\n- kind: Fine\n"
	if out, code := runFunction(t, "worker", strings.NewReader(list), io.Discard); code != 0 || out.String() != list {
		t.Errorf("exit code %d, stdout %q; want 0 and the list", code, out)
	}
}

// runFunction runs the test binary as a function.
func runFunction(t *testing.T, name string, stdin io.Reader, stderr io.Writer, args ...string) (stdout *bytes.Buffer, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stdout = new(bytes.Buffer)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), "FUNCTION="+name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	_ = cmd.Run()
	return stdout, cmd.ProcessState.ExitCode()
}
