// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package manual parses the documentation of functions: the file doc.md of each function, and QUIRKS.md.
package manual

import (
	"regexp"
	"slices"
	"strings"
)

// Manual is the documentation of a function.
type Manual struct {
	// Description is a text about the function's behaviour.
	Description string `json:"description"`
	// Configuration lists the forms of functionConfig that the function accepts.
	Configuration []Form  `json:"configuration"`
	Example       Example `json:"example"`
	// Notes are additional remarks for users.
	Notes []string `json:"notes,omitempty"`
	// Differences lists the differences from the catalog's function of the same name.
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
	// Type is for display. It includes whether the field is required, and its default.
	Type    string `json:"type"`
	Meaning string `json:"meaning"`
}

// Example is an example call, as YAML documents.
type Example struct {
	// FunctionConfig is empty for a function without one.
	FunctionConfig string `json:"functionConfig,omitempty"`
	Input          string `json:"input,omitempty"`
	// Output has the output resources, or the results if the resources do not change. It is empty if there are neither results
	// nor changes.
	Output string `json:"output,omitempty"`
	// Files holds files of the package that the function reads, by path.
	Files map[string]string `json:"files,omitempty"`
}

// Difference is a difference between a function and the catalog's.
type Difference struct {
	// Catalog describes the catalog's function.
	Catalog string `json:"catalog"`
	// Here is "fixed" or "kept".
	Here string `json:"here"`
	// Why is the reason, or what the function does instead; may be empty.
	Why string `json:"why,omitempty"`
}

var (
	block = regexp.MustCompile("(?ms)^```yaml (\\S+)\n(.*?)^```$")
	field = regexp.MustCompile("^- `(.+?)` \\((.+?)\\): (.+)$")
)

// Parse parses a doc.md, which has a description and the sections Configuration, Example and Notes.
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

// Differences parses the differences of a function in QUIRKS.md: tables in the sections whose heading contains its name.
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
