// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/functions/manual"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/images/reference"
)

// manualDocument is the manual of a curated function as JSON.
type manualDocument struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Version is the release of the catalog's function that the implementation behaves as, Tags are the tags that mean it.
	Version string   `json:"version"`
	Tags    []string `json:"tags"`
	// Releases are other releases that are known.
	Releases []string `json:"releases,omitempty"`
	// Implementation is what evaluates the function.
	Implementation string `json:"implementation"`
	manual.Manual
}

// describe writes the manual of the curated function that a name, or an image of the catalog, means.
func describe(p *program.Program, flags *runner.Flags, name string, json bool) error {
	if flags.Address != "" {
		return failure.Usage(errors.New("krmfn has manuals only for the curated functions: leave out --runner"))
	}
	f, ok := functions.Lookup(reference.CatalogName(name, flags.ImagePrefix))
	if !ok {
		advice := "see `krmfn functions` for those that it has"
		if near := failure.SimilarFunctions(name); near != "" {
			advice = "did you mean " + near + "? Otherwise " + advice
		}
		return fmt.Errorf("krmfn has no function %q: %s", name, advice)
	}
	d := manualDocument{
		Name: f.Name, Summary: f.Summary, Version: f.Version, Tags: f.Tags(), Releases: f.Releases, Implementation: f.Implementation(),
		Manual: functions.ManualOf(f),
	}
	if json {
		return report.WriteJSON(p.Out, d)
	}
	_, err := io.WriteString(p.Out, d.text(p.Out))
	return err
}

// maxColumns is how wide text is at most; longer lines are hard to read.
const maxColumns = 100

// page is a manual that is being written.
type page struct {
	strings.Builder
	out     terminal.Stream
	columns int
}

func (d *manualDocument) text(out terminal.Stream) string {
	p := &page{out: out, columns: maxColumns}
	if out.IsTerminal() {
		p.columns = min(p.columns, out.Width())
	}
	p.WriteString(out.Style.Bold(d.Name) + " " + d.Version + "\n")
	p.heading("DESCRIPTION")
	p.wrap("  ", "  ", d.Description)
	p.heading("CONFIGURATION")
	for i, form := range d.Configuration {
		if i > 0 {
			p.WriteString("\n")
		}
		p.wrap("  ", "  ", form.Summary)
		for _, field := range form.Fields {
			p.wrap("    ", "    ", out.Style.Cyan(field.Name)+" ("+field.Type+")")
			p.wrap("        ", "        ", field.Meaning)
		}
	}
	p.example(d.Example)
	p.heading("VERSION")
	p.wrap("  ", "  ", "Behaves as "+d.Version+" of the catalog's function, which the tags "+strings.Join(d.Tags, " and ")+" mean.")
	if d.Implementation != d.Name+" "+d.Version {
		p.wrap("  ", "  ", "It is evaluated by "+d.Implementation+".")
	}
	if len(d.Releases) > 0 {
		p.wrap("  ", "  ", "Other releases that are known: "+strings.Join(d.Releases, ", ")+". A warning tells of each tag that another version evaluates.")
	}
	if len(d.Notes) > 0 {
		p.heading("NOTES")
		for _, note := range d.Notes {
			p.wrap("  - ", "    ", note)
		}
	}
	p.differences(d.Differences)
	return p.String()
}

func (p *page) example(e manual.Example) {
	p.heading("EXAMPLE")
	parts := make([][2]string, 0, 3+len(e.Files))
	parts = append(parts, [2]string{"functionConfig", e.FunctionConfig}, [2]string{"input", e.Input}, [2]string{"output", cmp.Or(e.Output, "# unchanged\n")})
	for _, name := range slices.Sorted(maps.Keys(e.Files)) {
		parts = append(parts, [2]string{"file " + name, e.Files[name]})
	}
	for _, part := range parts {
		if part[1] == "" {
			continue
		}
		p.WriteString("  " + p.out.Style.Dim(part[0]+":") + "\n")
		for line := range strings.Lines(part[1]) {
			p.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
		}
	}
}

func (p *page) differences(all []manual.Difference) {
	if len(all) == 0 {
		return
	}
	p.heading("COMPARED WITH THE CATALOG'S FUNCTION")
	for _, d := range all {
		text := "The catalog's function " + d.Catalog + ". Here: " + d.Here
		if d.Why != "" {
			text += ", " + d.Why
		}
		p.wrap("  - ", "    ", text+".")
	}
}

func (p *page) heading(text string) { p.WriteString("\n" + p.out.Style.Bold(text) + "\n") }

// wrap writes Markdown text without backticks, and breaks lines between words at the width of the page.
func (p *page) wrap(first, rest, text string) {
	line, words := first, 0
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, "`", "")) {
		if words > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > p.columns {
			p.WriteString(line + "\n")
			line, words = rest, 0
		}
		if words > 0 {
			line += " "
		}
		line += word
		words++
	}
	p.WriteString(line + "\n")
}
