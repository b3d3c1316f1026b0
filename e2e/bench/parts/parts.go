// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package parts runs the measurements of a benchmark one after another.
package parts

import (
	"context"
	"fmt"
	"os"

	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/programs/progress"
)

// Part is one measurement.
type Part struct {
	// What describes the measurement for people.
	What    string
	Measure func(context.Context) error
}

// Run runs all parts in order and prints progress to standard output. If a part fails, Run notes in the report that it is incomplete and
// returns the error.
func Run(ctx context.Context, r *report.Report, all ...Part) error {
	printer := progress.New(os.Stdout)
	for _, part := range all {
		if err := printer.Step("measure: "+part.What, func() error { return part.Measure(ctx) }); err != nil {
			r.Note("This report is not complete: it ends before %s.", part.What)
			return fmt.Errorf("measure %s: %w", part.What, err)
		}
	}
	return nil
}
