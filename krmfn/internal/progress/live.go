// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/image"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/renderstatus"
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
	out     terminal.Stream
	verbose bool
	// finish ends the drawing of the function that runs; nil when none does.
	finish func()
	// functions is how many the package has, and begun how many of them have begun.
	functions, begun int
}

func (l *live) observe(e render.Event) {
	style := l.out.Style
	switch e := e.(type) {
	case *render.PackageStarted:
		l.functions, l.begun = e.Functions, 0
		fmt.Fprintf(l.out, "%s%s %s\n", strings.Repeat("  ", e.Depth), style.Bold("Package "+terminal.Safe(e.Name)),
			style.Dim(fmt.Sprintf("(%s, %s)", plural(e.Functions, "function"), plural(e.Resources, "resource"))))
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

// draw draws the line of a function that runs, until the function that it returns is called.
func (l *live) draw(f *renderstatus.Function) (finish func()) {
	name, begin := shortTitle(f), time.Now()
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
			text := fmt.Sprintf("  %c %-*s %s%s", spinner[i%len(spinner)], nameColumns, name, tenths(time.Since(begin)), progress)
			fmt.Fprint(l.out, terminal.ClearLine+terminal.Fit(text, l.out.Width()-1))
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
	if e.Function.Ran && e.Function.ExitCode != 0 {
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
	if over := len(lines) - maxStderr; over > 0 && !l.verbose {
		fmt.Fprintf(l.out, "      %s\n", l.out.Style.Dim(fmt.Sprintf("stderr: %d lines before these (--verbose shows all)", over)))
		lines = lines[over:]
	}
	for _, line := range lines {
		fmt.Fprintf(l.out, "      %s %s\n", l.out.Style.Dim("stderr "), terminal.Safe(line))
	}
}

// shortTitle is what a function is called where there is little room: its name and tag.
func shortTitle(f *renderstatus.Function) string {
	return terminal.Safe(ShortImage(f.Title()))
}

// ShortImage returns an image without the prefix of the catalog.
func ShortImage(ref string) string {
	for _, prefix := range []string{image.CatalogPrefix, image.FormerCatalogPrefix} {
		if name, ok := strings.CutPrefix(ref, prefix+"/"); ok {
			return name
		}
	}
	return ref
}

func tenths(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
