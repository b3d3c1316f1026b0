// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// status is how a check ended.
type status string

const (
	works   status = "ok"
	warning status = "warning"
	fails   status = "fails"
)

// finding is what a check found out.
type finding struct {
	// Check is the check's name.
	Check  string `json:"check"`
	Status status `json:"status"`
	// Found says what works, or what does not and why, in one line.
	Found string `json:"found"`
	// Remedy says what to do, in one line; "" where there is nothing to do or Found says it.
	Remedy string `json:"remedy,omitempty"`
	// noSandbox tells that no image can run in a sandbox because of it.
	noSandbox bool
}

// check looks at one thing that functions need.
type check interface {
	look(ctx context.Context) finding
}

// lookAll makes all checks at once. The findings are in the order of the checks.
func lookAll(ctx context.Context, checks []check) []finding {
	findings := make([]finding, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() {
			ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("no answer within %v", maxTime))
			defer cancel()
			findings[i] = c.look(ctx)
			findings[i].Found = terminal.OneLine(findings[i].Found)
		})
	}
	all.Wait()
	weigh(findings)
	return findings
}

// weigh makes failures of the warnings about the sandbox if there is no engine either: then no image can run.
func weigh(findings []finding) {
	for _, f := range findings {
		if f.Check == engineCheck && f.Status == works {
			return
		}
	}
	for i, f := range findings {
		if f.noSandbox {
			findings[i].Status = fails
		}
	}
}

func count(findings []finding, s status) int {
	n := 0
	for _, f := range findings {
		if f.Status == s {
			n++
		}
	}
	return n
}

// reason words an error: of one that the deadline caused, the cause.
func reason(ctx context.Context, err error) string {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		return context.Cause(ctx).Error()
	}
	return err.Error()
}
