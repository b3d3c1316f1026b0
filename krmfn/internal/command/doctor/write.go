// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

type document struct {
	// Status is the worst of all checks.
	Status status    `json:"status"`
	Checks []finding `json:"checks"`
}

func newDocument(findings []finding) document {
	d := document{Status: works, Checks: findings}
	for _, s := range []status{warning, fails} {
		if count(findings, s) > 0 {
			d.Status = s
		}
	}
	return d
}

// write writes a line for each check, one below it with what to do, and the sum.
func write(out terminal.Stream, findings []finding) {
	paint := map[status]func(string) string{works: out.Style.Green, warning: out.Style.Yellow, fails: out.Style.Red}
	for _, f := range findings {
		label := fmt.Sprintf("%-8s", f.Status)
		fmt.Fprintf(out, "%s %s%s %s\n", paint[f.Status](label), out.Style.Bold(f.Check), strings.Repeat(" ", max(0, 8-len(f.Check))), f.Found)
		if f.Remedy != "" {
			fmt.Fprintf(out, "%s→ %s\n", strings.Repeat(" ", 18), f.Remedy)
		}
	}
	fmt.Fprintf(out, "\n%s: %d ok, %s, %d failed\n", terminal.Count(len(findings), "check"), count(findings, works),
		terminal.Count(count(findings, warning), "warning"), count(findings, fails))
}
