// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package manual is what functions are documented by: the file doc.md beside each one, and QUIRKS.md.
package manual

import (
	"regexp"
	"slices"
	"strings"
)

// Manual is that of one function.
type Manual struct {
	// Description says what the function does.
	Description string `json:"description"`
	// Configuration are the forms of functionConfig that the function takes.
	Configuration []Form  `json:"configuration"`
	Example       Example `json:"example"`
	// Notes are what else users should know.
	Notes []string `json:"notes,omitempty"`
	// Differences are those from the function of the same name in the catalog.
	Differences []Difference `json:"differences,omitempty"`
}

// Form is a form of functionConfig.
type Form struct {
	// Summary is one line, such as "A ConfigMap (v1):".
	Summary string  `json:"summary"`
	Fields  []Field `json:"fields,omitempty"`
}

// Field is a field of a functionConfig.
type Field struct {
	Name string `json:"name"`
	// Type is for people, and says whether the field is required and what its default is.
	Type    string `json:"type"`
	Meaning string `json:"meaning"`
}

// Example is a call of the function, in YAML documents.
type Example struct {
	// FunctionConfig is empty for a function without one.
	FunctionConfig string `json:"functionConfig,omitempty"`
	Input          string `json:"input,omitempty"`
	// Output are the resources, or the results where the resources have not changed; empty where there are none and nothing has
	// changed.
	Output string `json:"output,omitempty"`
	// Files are files of the package that the function reads, by their paths.
	Files map[string]string `json:"files,omitempty"`
}

// Difference is a difference between a function and that of the catalog.
type Difference struct {
	// Catalog is what the catalog's function does.
	Catalog string `json:"catalog"`
	// Here is "fixed" or "kept".
	Here string `json:"here"`
	// Why is the reason, or what happens instead; may be empty.
	Why string `json:"why,omitempty"`
}

var (
	block = regexp.MustCompile("(?ms)^```yaml (\\S+)\n(.*?)^```$")
	field = regexp.MustCompile("^- `(.+?)` \\((.+?)\\): (.+)$")
)

// Parse reads a doc.md: the description, and the sections Configuration, Example and Notes.
func Parse(text string) Manual {
	description, rest, _ := strings.Cut(text, "\n## Configuration\n")
	configuration, rest, _ := strings.Cut(rest, "\n## Example\n")
	example, notes, _ := strings.Cut(rest, "\n## Notes\n")
	d := Manual{Description: strings.TrimSpace(description), Configuration: forms(configuration)}
	for _, match := range block.FindAllStringSubmatch(example, -1) {
		switch name, content := match[1], match[2]; name {
		case "functionConfig":
			d.Example.FunctionConfig = content
		case "input":
			d.Example.Input = content
		case "output":
			d.Example.Output = content
		default:
			if d.Example.Files == nil {
				d.Example.Files = map[string]string{}
			}
			d.Example.Files[name] = content
		}
	}
	for line := range strings.Lines(notes) {
		if note, ok := strings.CutPrefix(line, "- "); ok {
			d.Notes = append(d.Notes, strings.TrimSpace(note))
		}
	}
	return d
}

func forms(text string) []Form {
	var all []Form
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		found := field.FindStringSubmatch(line)
		switch {
		case line == "":
		case found != nil && len(all) > 0:
			last := &all[len(all)-1]
			last.Fields = append(last.Fields, Field{found[1], found[2], found[3]})
		default:
			all = append(all, Form{Summary: line})
		}
	}
	return all
}

// Differences reads those of a function from QUIRKS.md: the tables of the sections whose headings name it.
func Differences(quirks, function string) []Difference {
	var all []Difference
	for _, section := range strings.Split(quirks, "\n## ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		if !slices.Contains(strings.Split(heading, ", "), function) {
			continue
		}
		for line := range strings.Lines(body) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			if len(cells) < 2 || strings.HasPrefix(line, "| ---") {
				continue
			}
			d := Difference{Catalog: strings.TrimSpace(cells[0]), Here: strings.TrimSpace(cells[1])}
			if len(cells) > 2 {
				d.Why = strings.TrimSpace(cells[2])
			}
			if d.Here == "fixed" || d.Here == "kept" {
				all = append(all, d)
			}
		}
	}
	return all
}
