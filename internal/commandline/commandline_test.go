// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package commandline_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/internal/commandline"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/process/programtest"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

func TestEvaluate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "a function")
	script := "#!/bin/sh\necho \"arg $1\" >&2\n[ \"$1\" = 'no good' ] && exit 3\ncat\n"
	programtest.Write(t, program, script)
	e := commandline.Evaluator{Runner: process.NewRunner(process.Options{ScratchRoot: dir}), Env: []string{"PATH=" + dir + ":/bin:/usr/bin"}}
	resp, err := e.Evaluate(t.Context(), evaluation.Request{Image: fmt.Sprintf("%q 'one two'", program), ResourceList: []byte(list)})
	if err != nil || string(resp.ResourceList) != list || string(resp.Report.GetStderr()) != "arg one two\n" || resp.Report.GetImplementation() != program {
		t.Errorf("Evaluate() = %v, %v", resp.Report, err)
	}
	resp, err = e.Evaluate(t.Context(), evaluation.Request{Image: `'a function' "no good"`, ResourceList: []byte(list)})
	if err != nil || resp.Report.GetExitCode() != 3 || resp.Report.GetFailure().GetReason() != evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE {
		t.Errorf("Evaluate() = %v, %v", resp.Report, err)
	}
	resp, err = e.Evaluate(t.Context(), evaluation.Request{Image: "no-such-program", ResourceList: []byte(list)})
	if err != nil || resp.Report.GetFailure().GetReason() != evaluationv1.FailureReason_FAILURE_REASON_START {
		t.Errorf("Evaluate() = %v, %v", resp.Report, err)
	}
	resp, err = e.Evaluate(t.Context(), evaluation.Request{Image: "true", ResourceList: []byte(list)})
	if err != nil || string(resp.ResourceList) != "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n" || resp.Report.GetFailure() != nil {
		t.Errorf("Evaluate() without output = %q, %v, %v", resp.ResourceList, resp.Report, err)
	}
	for command, reason := range map[string]evaluationv1.FailureReason{
		"false":                   evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE,
		"sh -c 'kill -9 $$'":      evaluationv1.FailureReason_FAILURE_REASON_SIGNAL,
		"echo not a ResourceList": evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_INVALID,
	} {
		resp, err = e.Evaluate(t.Context(), evaluation.Request{Image: command, ResourceList: []byte(list)})
		if err != nil || resp.Report.GetFailure().GetReason() != reason {
			t.Errorf("Evaluate(%q) = %v, %v", command, resp.Report, err)
		}
	}
	limited := e
	limited.MaxTime = time.Second / 2
	resp, err = limited.Evaluate(t.Context(), evaluation.Request{Image: "sleep 60", ResourceList: []byte(list)})
	if err != nil || resp.Report.GetFailure().GetReason() != evaluationv1.FailureReason_FAILURE_REASON_DEADLINE {
		t.Errorf("Evaluate() = %v, %v", resp.Report, err)
	}
	for _, command := range []string{"", "  ", "'open", "# comment"} {
		if _, err := e.Evaluate(t.Context(), evaluation.Request{Image: command}); err == nil || !strings.Contains(err.Error(), "must be valid") {
			t.Errorf("Evaluate(%q) = %v, want an error", command, err)
		}
	}
}
