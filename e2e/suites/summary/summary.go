// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package summary summarises a run of the end-to-end suites: where the time went, and which specs passed only after a retry.
package summary

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

const (
	// slowest is the number of specs that Write lists. mostSteps is the number of steps per spec.
	slowest, mostSteps = 20, 4
	// totals is the number of steps that Write lists for all specs together.
	totals = 12
)

// Step is the total time that specs spent in steps with the same text in By.
type Step struct {
	Text string
	Time time.Duration
}

// Write writes the slowest specs with their longest steps, the longest steps over all specs, and each retried spec with its failures and
// its log.
func Write(w io.Writer, report types.Report) {
	specs := report.SpecReports.WithLeafNodeType(types.NodeTypeIt).WithState(types.SpecStatePassed | types.SpecStateFailureStates)
	slices.SortFunc(specs, func(a, b types.SpecReport) int { return cmp.Compare(b.RunTime, a.RunTime) })
	var all []types.SpecEvent
	fmt.Fprintf(w, "\nSlowest specs of %d, of %.0f s:\n", len(specs), report.RunTime.Seconds())
	for i := range specs {
		events := specs[i].SpecEvents.WithType(types.SpecEventByEnd)
		all = append(all, events...)
		if i < slowest {
			fmt.Fprintf(w, "%6.1f s  process %d  %s\n", specs[i].RunTime.Seconds(), specs[i].ParallelProcess, specs[i].FullText())
			writeSteps(w, Steps(events), mostSteps, "           ")
		}
	}
	fmt.Fprintln(w, "\nSteps of all specs:")
	writeSteps(w, Steps(all), totals, "")
	flaky := Flaky(report)
	if len(flaky) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%d specs passed only when they were tried again:\n", len(flaky))
	for i := range flaky {
		fmt.Fprintf(w, "\n%s\n%s\n", flaky[i].FullText(), flaky[i].LeafNodeLocation)
		for _, failed := range flaky[i].AdditionalFailures {
			fmt.Fprintf(w, "%s\n%s\n", failed.Failure.Message, failed.Failure.Location)
		}
		for _, entry := range flaky[i].ReportEntries {
			fmt.Fprintf(w, "%s:\n%s\n", entry.Name, entry.StringRepresentation())
		}
		fmt.Fprintf(w, "log:\n%s\n", flaky[i].CapturedGinkgoWriterOutput)
	}
}

// Flaky returns the specs that passed after a retry.
func Flaky(report types.Report) []types.SpecReport {
	return slices.DeleteFunc(report.SpecReports.WithState(types.SpecStatePassed), func(spec types.SpecReport) bool {
		return spec.NumAttempts <= 1 || spec.MaxFlakeAttempts <= 1
	})
}

// Steps sums the times of steps by the text before the first colon, and sorts them by time, longest first. The text after the colon names
// the object of the step.
func Steps(ends []types.SpecEvent) []Step {
	times := map[string]time.Duration{}
	for _, end := range ends {
		text, _, _ := strings.Cut(end.Message, ":")
		times[text] += end.Duration
	}
	steps := make([]Step, 0, len(times))
	for text, took := range times {
		steps = append(steps, Step{Text: text, Time: took})
	}
	slices.SortFunc(steps, func(a, b Step) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Text, b.Text)) })
	return steps
}

func writeSteps(w io.Writer, steps []Step, most int, indent string) {
	for _, step := range steps[:min(most, len(steps))] {
		fmt.Fprintf(w, "%s%6.1f s  %s\n", indent, step.Time.Seconds(), step.Text)
	}
}
