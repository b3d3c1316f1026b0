// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/krmfn/internal/tree"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

const (
	// frame is the duration of one frame of the spinner.
	frame = 100 * time.Millisecond
	// nameColumns keeps times below each other for functions of the catalog.
	nameColumns = 26
	// maxStderr is the maximum number of lines of a function's standard error that are shown. The last lines are shown.
	maxStderr = 20
)

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// live draws on a terminal. While a function runs, a goroutine draws its line; finish waits for it, so that nobody else
// writes at the same time.
type live struct {
	out     terminal.Stream
	options Options
	// finish ends the drawing of the function that runs; nil when none does.
	finish func()
	// packages is the number of packages, and reached the number of started ones; functions is the number of functions in all packages,
	// and begun the number of started ones.
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
		fmt.Fprintln(l.out, packageTree(l.out.Style, packages))
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
			if doing := l.options.Notices.now(); doing != "" {
				tail += "  " + terminal.Safe(doing)
			}
			columns := l.out.Width() - 1
			// The title gives way where there is little room: a clock that goes on shows that the render does.
			room := max(nameColumns*min(len(l.options.Notices.now()), 1), columns-utf8.RuneCountInString(head+tail))
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
	for _, warning := range l.options.Notices.take() {
		fmt.Fprintf(l.out, "      %s %s\n", style.Yellow("warning"), terminal.OneLine(warning))
	}
	l.results(&e.Function)
	l.stderr(&e.Function)
	if exited(e) {
		fmt.Fprintf(l.out, "      %s\n", style.Red(fmt.Sprintf("exit code %d", e.Function.ExitCode)))
	}
}

// results shows what matters, and of the rest the first few.
func (l *live) results(f *renderstatus.Function) {
	results, left := l.options.choose(f.Results, maxInfos)
	for _, r := range results {
		text := oneLine(r.Message)
		if about := subject(r); about != "" {
			text = about + ": " + text
		}
		s := severity(r)
		fmt.Fprintf(l.out, "      %s %s\n", l.out.Style.Severity(s, fmt.Sprintf("%-7s", terminal.Safe(s))), text)
	}
	if left > 0 {
		fmt.Fprintf(l.out, "      %s\n", l.out.Style.Dim(l.options.more(left)))
	}
}

func (l *live) stderr(f *renderstatus.Function) {
	text := strings.TrimSpace(f.Stderr)
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	if over := len(lines) - maxStderr; over > 0 && l.options.Truncate && !l.options.Verbose {
		fmt.Fprintf(l.out, "      %s\n", l.out.Style.Dim(fmt.Sprintf("stderr: %s before these left out (--truncate-output=false shows all)", terminal.Count(over, "line"))))
		lines = lines[over:]
	}
	for _, line := range lines {
		fmt.Fprintf(l.out, "      %s %s\n", l.out.Style.Dim("stderr "), terminal.Safe(line))
	}
}

// packageTree draws packages below each other, whatever the order in which they are rendered, with how many functions each has.
func packageTree(style terminal.Style, packages []render.PlannedPackage) string {
	directories := make([]tree.Directory, 0, len(packages))
	for _, p := range packages {
		title := style.Bold(terminal.Safe(path.Base(p.Name))) + "  " + style.Dim(terminal.Count(p.Functions, "function"))
		directories = append(directories, tree.Directory{Path: p.Package, Lines: []string{title}})
	}
	return tree.Draw(directories, style.Dim)
}
