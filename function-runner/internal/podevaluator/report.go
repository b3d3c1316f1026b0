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

// TimeSpentError says that a call's time was over before there was an answer, and how it was spent.
type TimeSpentError struct {
	// Err is which limit it was: the cause of the end of the context.
	Err error
	// Spent says on what the time was spent, and what the call waited for in the end.
	Spent string
}

func (e *TimeSpentError) Error() string { return fmt.Sprintf("%v after %s", e.Err, e.Spent) }

// Unwrap returns the limit.
func (e *TimeSpentError) Unwrap() error { return e.Err }

func (c *clock) explain(limit error, doing func() string) error {
	round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	spent := fmt.Sprintf("%v (asking the registry %v, waiting for a pod %v, running the function %v)",
		round(time.Since(c.begin)), round(c.resolving), round(c.queueing+c.starting), round(c.executing))
	if doing != nil {
		spent += ": " + doing()
	}
	return &TimeSpentError{Err: limit, Spent: spent}
}

// Metrics measures calls. A nil one measures nothing.
type Metrics struct{ retries metric.Int64Counter }

// NewMetrics returns the instrument:
//
//   - krm_function_retries (image): calls that a pod has not begun with and that were sent again
func NewMetrics(meter metric.Meter) (*Metrics, error) {
	retries, err := meter.Int64Counter("krm_function_retries", metric.WithDescription("Calls that a function pod has not begun with and that were sent again."))
	return &Metrics{retries: retries}, err
}

func (m *Metrics) retried(ctx context.Context, ref string) {
	if m != nil {
		repository, _, _ := reference.Split(ref)
		m.retries.Add(ctx, 1, metric.WithAttributes(attribute.String("image", repository)))
	}
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
