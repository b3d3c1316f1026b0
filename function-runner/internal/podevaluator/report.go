// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/images/reference"
)

// clock measures the durations of a call's phases.
type clock struct {
	begin time.Time

	resolving, queueing, starting, executing time.Duration
}

func newClock() *clock { return &clock{begin: time.Now()} }

// spend starts a measurement. The returned function adds the elapsed time to a phase.
func (c *clock) spend(phase *time.Duration) func() {
	begin := time.Now()
	return func() { *phase += time.Since(begin) }
}

// explain adds the durations of the phases, and what the call was waiting for, to the error of a call that exceeded a limit.
func (c *clock) explain(limit error, doing func() string) error {
	round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	spent := fmt.Sprintf("%v (asking the registry %v, waiting for a pod %v, running the function %v)",
		round(time.Since(c.begin)), round(c.resolving), round(c.queueing+c.starting), round(c.executing))
	if doing != nil {
		spent += ": " + doing()
	}
	return fmt.Errorf("%w after %s", limit, spent)
}

// retried counts a retried call.
func (e *Evaluator) retried(ctx context.Context, ref string) {
	repository, _, _ := reference.Split(ref)
	e.retries.Add(ctx, 1, metric.WithAttributes(attribute.String("image", repository)))
}

// restrictions map error messages of functions that fail because of the pod's restrictions to advice for users.
var restrictions = []struct{ says, hint string }{
	{"read-only file system", "function pods have a read-only root file system and may write below /tmp only"},
	{"permission denied", "function pods do not run as root"},
	{"operation not permitted", "function pods do not run as root and have no capabilities"},
}

// explainRestrictions adds advice to the failure of a function that a restriction of the pod may have caused.
func explainRestrictions(report *evaluationv1.Evaluation) {
	failure := report.GetFailure()
	switch failure.GetReason() {
	case evaluationv1.FailureReason_FAILURE_REASON_START, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, evaluationv1.FailureReason_FAILURE_REASON_SIGNAL:
	default:
		return
	}
	text := strings.ToLower(failure.GetMessage() + "\n" + string(report.GetStderr()))
	for _, r := range restrictions {
		if !strings.Contains(text, r.says) {
			continue
		}
		hint := r.hint + ": change the image, or the pod with --function-pod-template"
		failure.Message += " (" + hint + ")"
		// Some clients show only the standard error.
		report.Stderr = append(report.GetStderr(), "["+hint+"]\n"...)
		return
	}
}
