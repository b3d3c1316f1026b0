// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

const (
	// frame is how long a picture of the spinner stands.
	frame = 100 * time.Millisecond
	// nameColumns keeps times below each other for functions of the catalog.
	nameColumns = 26
	// maxInfos is how many results that are only information are shown of one function.
	maxInfos = 5
	// maxStderr is how many lines of a standard error are shown, its last ones.
	maxStderr = 20
)

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// live draws on a terminal. While a function runs, a goroutine draws its line; finish waits for it, so that nobody else
// writes at the same time.
type live struct {
	out               terminal.Stream
	verbose, truncate bool
	// finish ends the drawing of the function that runs; nil when none does.
	finish func()
	// packages is how many there are, and reached how many of them have begun; functions is how many all packages have, and
	// begun how many of those have begun.
	packages, reached, functions, begun int
}

func (l *live) observe(e render.Event) {
	style := l.out.Style
	switch e := e.(type) {
	case *render.Started:
		l.planned(e.Packages)
	case *render.PackageStarted:
		l.reached++
		counts := terminal.Count(e.Functions, "function") + ", " + terminal.Count(e.Resources, "resource")
		if l.packages > 1 {
			counts = fmt.Sprintf("%d of %d, %s", l.reached, l.packages, counts)
		}
		fmt.Fprintf(l.out, "%s %s\n", style.Bold("Package "+terminal.Safe(e.Name)), style.Dim("("+counts+")"))
	case *render.FunctionStarted:
		l.begun++
		l.finish = l.draw(&e.Function)
	case *render.FunctionFinished:
		if l.finish != nil {
			l.finish()
			l.finish = nil
			l.finished(e)
		}
	}
}

// planned shows what is ahead: the packages as a tree, where there are several.
func (l *live) planned(packages []render.PlannedPackage) {
	l.packages = len(packages)
	for _, p := range packages {
		l.functions += p.Functions
	}
	if len(packages) > 1 {
		fmt.Fprintln(l.out, tree(l.out.Style, packages))
	}
}

// draw draws the line of a function that runs, until the function that it returns is called.
func (l *live) draw(f *renderstatus.Function) (finish func()) {
	title, fit, begin := shortTitle(f), FitTitle(f), time.Now()
	progress := ""
	if l.functions > 1 {
		progress = fmt.Sprintf(" (%d of %d)", l.begun, l.functions)
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(frame)
		defer ticker.Stop()
		for i := 0; ; i++ {
			head, tail := fmt.Sprintf("  %c ", spinner[i%len(spinner)]), " "+fmt.Sprintf("%.1fs", time.Since(begin).Seconds())+progress
			columns := l.out.Width() - 1
			// The title gives way where there is little room: a clock that goes on shows that the render does.
			room := max(0, columns-utf8.RuneCountInString(head+tail))
			text := fmt.Sprintf("%s%-*s%s", head, min(nameColumns, room), fit(title, room), tail)
			fmt.Fprint(l.out, terminal.ClearLine+terminal.Fit(text, columns))
			select {
			case <-quit:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() {
		close(quit)
		<-done
		fmt.Fprint(l.out, terminal.ClearLine)
	}
}

func (l *live) finished(e *render.FunctionFinished) {
	style := l.out.Style
	mark := style.Green("✓")
	if e.Err != nil {
		mark = style.Red("✗")
	}
	took := Duration(time.Duration(e.Function.Duration))
	fmt.Fprintf(l.out, "  %s %-*s %s\n", mark, nameColumns, shortTitle(&e.Function), style.Dim(took))
	l.results(&e.Function)
	l.stderr(&e.Function)
	if exited(e) {
		fmt.Fprintf(l.out, "      %s\n", style.Red(fmt.Sprintf("exit code %d", e.Function.ExitCode)))
	}
}

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
		fmt.Fprintf(l.out, "      %s\n", l.out.Style.Dim(fmt.Sprintf("stderr: %s before these left out (--truncate-output=false shows all)", terminal.Count(over, "line"))))
		lines = lines[over:]
	}
	for _, line := range lines {
		fmt.Fprintf(l.out, "      %s %s\n", l.out.Style.Dim("stderr "), terminal.Safe(line))
	}
}

// tree draws packages below each other, whatever the order in which they are rendered, with how many functions each has.
func tree(style terminal.Style, packages []render.PlannedPackage) string {
	above := map[string][]render.PlannedPackage{}
	dirs := map[string]bool{}
	for _, p := range packages {
		dirs[p.Package] = true
	}
	for _, p := range packages {
		above[parent(dirs, p.Package)] = append(above[parent(dirs, p.Package)], p)
	}
	var b strings.Builder
	for _, root := range above[""] {
		branch(&b, style, above, root, "", "")
	}
	return b.String()
}

// parent returns the directory of the nearest package above one; "" where there is none.
func parent(dirs map[string]bool, dir string) string {
	for dir != "." && dir != "/" {
		if dir = path.Dir(dir); dirs[dir] {
			return dir
		}
	}
	return ""
}

// branch draws a package and all below it: head is in front of its own line, rest in front of the lines below.
func branch(b *strings.Builder, style terminal.Style, above map[string][]render.PlannedPackage, p render.PlannedPackage, head, rest string) {
	b.WriteString(style.Dim(head) + style.Bold(terminal.Safe(path.Base(p.Name))) + "  " + style.Dim(terminal.Count(p.Functions, "function")) + "\n")
	below := slices.Clone(above[p.Package])
	slices.SortFunc(below, func(a, b render.PlannedPackage) int { return strings.Compare(a.Package, b.Package) })
	for i, sub := range below {
		if i == len(below)-1 {
			branch(b, style, above, sub, rest+"└─ ", rest+"   ")
		} else {
			branch(b, style, above, sub, rest+"├─ ", rest+"│  ")
		}
	}
}
