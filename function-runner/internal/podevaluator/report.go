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

// clock measures where the time of a call goes.
type clock struct {
	begin time.Time

	resolving, queueing, starting, executing time.Duration
}

func newClock() *clock { return &clock{begin: time.Now()} }

// spend adds the time from now to the call of what it returns to a phase.
func (c *clock) spend(phase *time.Duration) func() {
	begin := time.Now()
	return func() { *phase += time.Since(begin) }
}

// explain adds to the limit on a call's time, the cause of the end of its context, on what the time was spent, and what the call
// waited for in the end.
func (c *clock) explain(limit error, doing func() string) error {
	round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	spent := fmt.Sprintf("%v (asking the registry %v, waiting for a pod %v, running the function %v)",
		round(time.Since(c.begin)), round(c.resolving), round(c.queueing+c.starting), round(c.executing))
	if doing != nil {
		spent += ": " + doing()
	}
	return fmt.Errorf("%w after %s", limit, spent)
}

// retried counts a call that is sent again.
func (e *Evaluator) retried(ctx context.Context, ref string) {
	repository, _, _ := reference.Split(ref)
	e.retries.Add(ctx, 1, metric.WithAttributes(attribute.String("image", repository)))
}

// restrictions are the messages of functions that a restricted pod hinders, and the advice for their users.
var restrictions = []struct{ says, hint string }{
	{"read-only file system", "function pods have a read-only root file system and may write below /tmp only"},
	{"permission denied", "function pods do not run as root"},
	{"operation not permitted", "function pods do not run as root and have no capabilities"},
}

// explainRestrictions adds advice to the failure of a function that needs more than a restricted pod allows.
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
		// Where the message is not shown, standard error is.
		report.Stderr = append(report.GetStderr(), "["+hint+"]\n"...)
		return
	}
}
