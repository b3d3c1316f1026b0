// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"strings"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

const (
	// maxInfos is how many results that are only information are shown of one function.
	maxInfos = 5
	// maxStderr is how many lines of a standard error are shown, its last ones.
	maxStderr = 20
)

// results shows what matters, and of the rest the first few.
func (l *live) results(f *renderstatus.Function) {
	infos := 0
	for i := range f.Results {
		r := &f.Results[i]
		s := severity(r)
		if s != "error" && s != "warning" {
			if infos++; infos > l.maxInfos(f) {
				continue
			}
		}
		text := oneLine(r.Message)
		if about := subject(r); about != "" {
			text = about + ": " + text
		}
		fmt.Fprintf(l.out, "      %s %s\n", l.out.Style.Severity(s, fmt.Sprintf("%-7s", terminal.Safe(s))), text)
	}
	if more := infos - l.maxInfos(f); more > 0 {
		fmt.Fprintf(l.out, "      %s\n", l.out.Style.Dim(fmt.Sprintf("and %d more (--verbose shows all)", more)))
	}
}

// maxInfos is how many results of a function are shown that are only information. A single one is not left out: the line
// that says so takes as much room.
func (l *live) maxInfos(f *renderstatus.Function) int {
	if l.verbose || len(f.Results) <= maxInfos+1 {
		return len(f.Results)
	}
	return maxInfos
}

func (l *live) stderr(f *renderstatus.Function) {
	text := strings.TrimSpace(f.Stderr)
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	if over := len(lines) - maxStderr; over > 0 && l.truncate && !l.verbose {
		fmt.Fprintf(l.out, "      %s\n", l.out.Style.Dim(fmt.Sprintf("stderr: %s before these left out (--truncate-output=false shows all)", plural(over, "line"))))
		lines = lines[over:]
	}
	for _, line := range lines {
		fmt.Fprintf(l.out, "      %s %s\n", l.out.Style.Dim("stderr "), terminal.Safe(line))
	}
}
