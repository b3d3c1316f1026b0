// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"embed"
	"strings"

	"github.com/krmfn/krmfn/functions/manual"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

//go:embed */doc.md
var manuals embed.FS

//go:embed QUIRKS.md
var quirks string

// ManualOf returns the documentation of one of the functions in All.
func ManualOf(f function.Function) manual.Manual {
	name := f.Name
	if f.Stands != "" {
		name, _, _ = strings.Cut(f.Stands, " ")
	}
	text, err := manuals.ReadFile(strings.ReplaceAll(name, "-", "") + "/doc.md")
	if err != nil {
		return manual.Manual{}
	}
	d := manual.Parse(string(text))
	for _, difference := range manual.Differences(quirks, f.Name) {
		// A section may cover several functions; some lines are about only one of them.
		subject, _, _ := strings.Cut(difference.Catalog, " ")
		if _, other := Lookup(subject); !other || subject == f.Name {
			d.Differences = append(d.Differences, difference)
		}
	}
	return d
}
