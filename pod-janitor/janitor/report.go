// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package janitor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
)

// Action is what was done with an object.
type Action string

// The actions.
const (
	Deleted Action = "deleted"
	// WouldDelete is what a dry run does instead.
	WouldDelete Action = "would delete"
	// Used objects were used, or otherwise changed, between being listed and being deleted. They are left.
	Used Action = "used meanwhile"
	// Gone objects were deleted by somebody else meanwhile.
	Gone Action = "gone"
	// Failed deletions are tried again by the next sweep.
	Failed Action = "failed"
	// Waiting objects are left to the next sweep: there are too many, or time is over.
	Waiting Action = "next sweep"
	// Left objects are only told of.
	Left Action = "left"
)

// Row is one object of a report.
type Row struct {
	sweep.Decision
	Action Action `json:"action"`
	// Error is why a deletion failed.
	Error string `json:"error,omitempty"`
}

// Report is what one sweep has done.
type Report struct {
	Namespace string `json:"namespace"`
	DryRun    bool   `json:"dryRun"`
	// Begin is when the sweep began, in UTC and whole seconds.
	Begin time.Time `json:"begin"`
	// Seen is how many objects of ours there are of each kind, and Kept how many of them are not to be deleted.
	Seen map[sweep.Kind]int `json:"seen"`
	Kept int                `json:"kept"`
	Rows []Row              `json:"objects"`
	// took is how long the sweep took, and err why the first deletion failed that did.
	took time.Duration
	err  error
}

// count returns with how many objects something was done.
func (r *Report) count(action Action) int {
	n := 0
	for _, row := range r.Rows {
		if row.Action == action {
			n++
		}
	}
	return n
}

// note says in one sentence what was deleted, and why: "deleted 3 Pods (expired 2, failed 1), 1 Service (orphaned 1)".
func (r *Report) note() string {
	var kinds []string
	for _, kind := range []sweep.Kind{sweep.Pod, sweep.Service, sweep.Secret} {
		n, reasons := 0, map[sweep.Reason]int{}
		for _, row := range r.Rows {
			if row.Kind == kind && row.Action == Deleted {
				n++
				reasons[row.Reason]++
			}
		}
		if n == 0 {
			continue
		}
		plural := "s"
		if n == 1 {
			plural = ""
		}
		kinds = append(kinds, fmt.Sprintf("%d %s%s (%s)", n, kind, plural, counts(reasons)))
	}
	return fmt.Sprintf("deleted %s in namespace %s", strings.Join(kinds, ", "), r.Namespace)
}

func counts(reasons map[sweep.Reason]int) string {
	words := make([]string, 0, len(reasons))
	for reason, n := range reasons {
		words = append(words, fmt.Sprintf("%s %d", reason, n))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}
