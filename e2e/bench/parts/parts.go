// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package parts runs the measurements of a benchmark one after the other.
package parts

import (
	"context"
	"fmt"
	"os"

	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/programs/progress"
)

// Part is one of the measurements.
type Part struct {
	// What is measured, as people read it.
	What    string
	Measure func(context.Context) error
}

// Run measures all of them, and tells on standard output what it does. Where one fails, the report says that it ends there.
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
