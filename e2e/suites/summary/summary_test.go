// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package summary_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/krmfn/krmfn/e2e/suites/summary"
)

func spec(text string, took time.Duration, events ...types.SpecEvent) types.SpecReport {
	return types.SpecReport{
		LeafNodeType: types.NodeTypeIt, LeafNodeText: text, State: types.SpecStatePassed, NumAttempts: 1, ParallelProcess: 1, RunTime: took,
		SpecEvents: events,
	}
}

func end(text string, took time.Duration) types.SpecEvent {
	return types.SpecEvent{SpecEventType: types.SpecEventByEnd, Message: text, Duration: took}
}

func TestWriteListsSlowestSpecsWithTheirSteps(t *testing.T) {
	t.Parallel()
	skipped := spec("skipped", 0)
	skipped.State = types.SpecStateSkipped
	report := types.Report{RunTime: 90 * time.Second, SpecReports: types.SpecReports{
		spec("fast", time.Second, end("install: b", time.Second)), skipped,
		spec("slow", time.Minute, end("wait", 10*time.Second), end("install: a", 20*time.Second), end("install: b", 15*time.Second)),
	}}
	var out strings.Builder
	summary.Write(&out, report)
	const want = `
Slowest specs of 2, of 90 s:
  60.0 s  process 1  slow
             35.0 s  install
             10.0 s  wait
   1.0 s  process 1  fast
              1.0 s  install

Steps of all specs:
  36.0 s  install
  10.0 s  wait
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("Write() (-want +got):\n%s", diff)
	}
}

func TestWriteShowsLogOfRetriedSpec(t *testing.T) {
	t.Parallel()
	flaky := spec("flaky", time.Second)
	flaky.NumAttempts, flaky.MaxFlakeAttempts, flaky.CapturedGinkgoWriterOutput = 2, 2, "what happened"
	flaky.AdditionalFailures = []types.AdditionalFailure{{Failure: types.Failure{Message: "no pod"}}}
	failed := flaky
	failed.State = types.SpecStateFailed
	var out strings.Builder
	summary.Write(&out, types.Report{SpecReports: types.SpecReports{flaky, spec("steady", time.Second), failed}})
	_, got, _ := strings.Cut(out.String(), "1 specs passed only when they were tried again:\n")
	for _, want := range []string{"flaky\n", "no pod\n", "log:\nwhat happened\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("Write() = %q, want it to contain %q", out.String(), want)
		}
	}
	if got, want := strings.Count(got, "log:"), 1; got != want {
		t.Errorf("Write() shows %d logs, want %d", got, want)
	}
}
