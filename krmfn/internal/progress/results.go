// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
)

const (
	// maxResults is the maximum number of a function's results that are shown, the worst first.
	maxResults = 20
	// maxInfos is the maximum number of results with severity info among them on a terminal.
	maxInfos = 5
)

// choose returns the results that are shown, in their order, and how many are not: at most maxResults of them are, errors before
// warnings and warnings before the rest, of which at most infos are. A single one is not left out: the line that says so takes
// as much room.
func (o *Options) choose(results []fnresultv1.ResultItem, infos int) (shown []*fnresultv1.ResultItem, left int) {
	chosen := make([]bool, len(results))
	room := maxResults
	choose := func(of string, most int) {
		for i := range results {
			if most > 0 && room > 0 && rank(&results[i]) == of {
				chosen[i] = true
				most--
				room--
				left--
			}
		}
	}
	left = len(results)
	choose("error", maxResults)
	choose("warning", maxResults)
	choose("info", infos)
	all := o.Verbose || left <= 1
	for i := range results {
		if all || chosen[i] {
			shown = append(shown, &results[i])
		}
	}
	return shown, len(results) - len(shown)
}

// rank is the severity of a result, with one for all that are neither errors nor warnings.
func rank(r *fnresultv1.ResultItem) string {
	if s := severity(r); s == "error" || s == "warning" {
		return s
	}
	return "info"
}

// more says how many results are not shown, and where they are.
func (o *Options) more(left int) string {
	if o.ResultsFile != "" {
		return fmt.Sprintf("and %d more: they are in %s", left, o.ResultsFile)
	}
	return fmt.Sprintf("and %d more: see them with --verbose or --results-dir DIR", left)
}
