// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// shortDigest is the number of hexadecimal digits of a digest in the table.
const shortDigest = 12

// WriteTable writes the report as a table, followed by one line for each note, skipped node and failure.
func (r *Report) WriteTable(w io.Writer) error {
	var text bytes.Buffer
	if len(r.Images) > 0 {
		r.table(&text)
	}
	r.lines(&text)
	_, err := w.Write(text.Bytes())
	return err
}

func (r *Report) table(text *bytes.Buffer) {
	pulled := "PULLED"
	if r.DryRun {
		pulled = "TO PULL"
	}
	columns := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(columns, "IMAGE\tDIGEST\tMETADATA\t%s\tPRESENT\tSKIPPED\tFAILED\tTIME\n", pulled)
	for _, i := range r.Images {
		counts := map[string]int{}
		for _, n := range i.Nodes {
			counts[n.Result]++
		}
		count := func(result string) string {
			if len(i.Nodes) == 0 {
				return "-"
			}
			return strconv.Itoa(counts[result])
		}
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", i.Image, short(i.Digest), i.Metadata,
			count(Pulled), count(Present), count(Skipped), count(Failed), duration(i.Seconds))
	}
	_ = columns.Flush()
}

func short(digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return cmp.Or(hex[:min(len(hex), shortDigest)], "-")
}

func duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond).String()
}

func (r *Report) lines(text *bytes.Buffer) {
	if r.Metadata != nil {
		r.metadata(text)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(text, "note: %s\n", note)
	}
	for _, line := range r.skipped() {
		fmt.Fprintf(text, "skipped: %s\n", line)
	}
	for _, f := range r.Failures {
		text.WriteString("failed: ")
		if f.Image != "" {
			text.WriteString(f.Image)
			if f.Node != "" {
				text.WriteString(" on " + f.Node)
			}
			text.WriteString(": ")
		}
		fmt.Fprintf(text, "%s\n", oneLine(f.Reason))
	}
}

func (r *Report) metadata(text *bytes.Buffer) {
	m := r.Metadata
	switch {
	case m.Action == Nothing:
		fmt.Fprintf(text, "metadata: no image was resolved, so nothing is written to %s", m.Target)
	case r.DryRun && m.Action != Unchanged:
		fmt.Fprintf(text, "metadata: %s would be %s", m.Target, m.Action)
	default:
		fmt.Fprintf(text, "metadata: %s %s", m.Target, m.Action)
	}
	if len(m.Kept) > 0 {
		fmt.Fprintf(text, ", kept from earlier runs: %s", strings.Join(m.Kept, " "))
	}
	if len(m.Dropped) > 0 {
		fmt.Fprintf(text, ", dropped: %s", strings.Join(m.Dropped, " "))
	}
	text.WriteByte('\n')
}

// skipped returns one line for each node and reason, with the number of images.
func (r *Report) skipped() []string {
	var lines []string
	images := map[string]int{}
	for _, i := range r.Images {
		for _, n := range i.Nodes {
			if n.Result != Skipped {
				continue
			}
			line := n.Node + ": " + n.Reason
			if images[line]++; images[line] == 1 {
				lines = append(lines, line)
			}
		}
	}
	for i, line := range lines {
		lines[i] = fmt.Sprintf("%s (images: %d)", line, images[line])
	}
	return lines
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
