// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// File is the name of the JSON report that Read reads.
const File = "report.json"

// Pictures maps file names to functions that write plots.
type Pictures map[string]func(io.Writer) error

// Write writes the report to dir as text and as JSON, writes the plots that are not empty, and writes the text to w.
func (r *Report) Write(w io.Writer, dir string, pictures Pictures) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := Pictures{"report.txt": r.WriteText, File: func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", " ")
		return encoder.Encode(r)
	}}
	maps.Copy(files, pictures)
	for name, content := range files {
		var text bytes.Buffer
		if err := content(&text); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		if text.Len() == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return r.WriteText(w)
}

// Read reads the report in dir.
func Read(dir string) (*Report, error) {
	text, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		return nil, err
	}
	r := new(Report)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, File), err)
	}
	return r, nil
}

// Add adds rows, and a note for each row with lost calls.
func (r *Report) Add(rows ...Row) {
	r.Rows = append(r.Rows, rows...)
	for _, row := range rows {
		if row.Lost > 0 {
			r.Note("%s: %d calls failed or were not made, and are not in the numbers.", row.What, row.Lost)
		}
	}
}

// Note appends a formatted note.
func (r *Report) Note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Sections returns the section headings in the order of the rows.
func (r *Report) Sections() []string {
	var names []string
	for i, row := range r.Rows {
		if i == 0 || row.Section != r.Rows[i-1].Section {
			names = append(names, row.Section)
		}
	}
	return names
}

// legend explains the columns.
const legend = "beside: a bare process of the same executable on the same input, in turns with it, unless something else is said; " +
	"ratio: the median of the rounds' ratios; rounds: the least and the greatest; beyond: the difference."

// WriteText writes the report as plain text.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "\n%s\n\n", r.Title)
	facts := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, fact := range r.Facts {
		fmt.Fprintf(facts, "%s\t%s\n", fact.Name, fact.Value)
	}
	if err := facts.Flush(); err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	section, met, goals := "", 0, 0
	for _, row := range r.Rows {
		if row.Section != section {
			section = row.Section
			fmt.Fprintf(table, "\n%s\t%s\n", strings.ToUpper(section), strings.Join(Header[1:], "\t"))
		}
		fmt.Fprintln(table, strings.Join(row.Cells(), "\t"))
		if row.Goal != nil {
			goals++
			if row.Met() {
				met++
			}
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d of %d goals met.\n%s\n", met, goals, legend)
	for _, note := range r.Notes {
		if _, err := fmt.Fprintf(w, "- %s\n", note); err != nil {
			return err
		}
	}
	return nil
}
