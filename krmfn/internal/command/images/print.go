// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"strings"

	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// print writes the list in the format that --format names.
func (c *command) print(list []*image) error {
	switch c.format {
	case formatJSON:
		return report.WriteJSON(c.Out, document{list})
	case formatName:
		return c.printNames(list)
	}
	heading := []string{"IMAGE", "DIGEST", "BUILT IN", "USED BY"}
	switch {
	case c.copyTo != "":
		heading = []string{"IMAGE", "COPY", "STATE"}
	case c.verification.enabled:
		heading = []string{"IMAGE", "DIGEST", "SIGNATURE", "USED BY"}
	}
	rows := make([][]report.Cell, 0, len(list))
	for _, i := range list {
		name := report.Text(i.Image)
		name.Paint = c.Out.Style.Bold
		if c.copyTo != "" {
			rows = append(rows, []report.Cell{name, report.Text(i.Copy), report.Text(i.state())})
			continue
		}
		digest := report.Text(i.Digest)
		digest.Fit = cut
		third := i.BuiltIn
		if c.verification.enabled {
			third = i.Signature
		}
		rows = append(rows, []report.Cell{name, digest, report.Text(third), report.Text(users(i.UsedBy))})
	}
	report.WriteTable(c.Out, heading, rows)
	return nil
}

// printNames writes the names of the images, or of their copies.
func (c *command) printNames(list []*image) error {
	for _, i := range list {
		name := i.Image
		if c.copyTo != "" {
			name = i.Copy
		}
		if name == "" || !i.resolved {
			continue
		}
		if _, err := fmt.Fprintln(c.Out, terminal.Safe(name)); err != nil {
			return err
		}
	}
	return nil
}

// state says what --copy-to has done about an image.
func (i *image) state() string {
	switch {
	case i.Problem != "":
		return "failed"
	case i.Copied:
		return "copied"
	case i.Copy != "":
		return "already there"
	}
	return "local"
}

// users returns the packages that use an image, each with the number of its functions unless it is one.
func users(uses []use) string {
	counts := map[string]int{}
	var dirs []string
	for _, u := range uses {
		if counts[u.Package]++; counts[u.Package] == 1 {
			dirs = append(dirs, u.Package)
		}
	}
	for i, dir := range dirs {
		if counts[dir] > 1 {
			dirs[i] = fmt.Sprintf("%s (%d)", dir, counts[dir])
		}
	}
	return strings.Join(dirs, ", ")
}

// cut cuts the end of a digest.
func cut(text string, columns int) string {
	if columns < 1 || len(text) <= columns {
		return text
	}
	return text[:columns-1] + "…"
}

// problems writes what is wrong with images, and returns an error if anything is.
func (c *command) problems(list []*image) error {
	wrong := 0
	for _, i := range list {
		if i.Problem != "" {
			wrong++
			c.Alert(i.Image + ": " + i.Problem)
		}
	}
	if wrong == 0 {
		return nil
	}
	what := "digests are not known for %d of %d images: --offline leaves digests out"
	switch {
	case c.copyTo != "":
		what = "%d of %d images were not copied: run the command again when the causes are gone"
	case c.verification.enabled:
		what = "%d of %d images were not verified: have them signed, or do not use them"
	}
	return fmt.Errorf(what, wrong, len(list))
}
