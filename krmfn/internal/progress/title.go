// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"strings"
	"unicode/utf8"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// shortTitle is what a function is called where there is little room: its name and tag.
func shortTitle(f *renderstatus.Function) string {
	return terminal.Safe(ShortImage(f.Title()))
}

// ShortImage returns an image without the prefix of the catalog.
func ShortImage(ref string) string {
	for _, prefix := range []string{reference.CatalogPrefix, reference.FormerCatalogPrefix} {
		if name, ok := strings.CutPrefix(ref, prefix+"/"); ok {
			return name
		}
	}
	return ref
}

// FitTitle returns what cuts the title of a function to a number of columns: an image keeps its name and tag, a command
// line its beginning and end.
func FitTitle(f *renderstatus.Function) func(title string, columns int) string {
	if f.Image != "" {
		return fitImage
	}
	return terminal.FitMiddle
}

// fitImage cuts an image in front of its name. Where the name itself has no room, it cuts the digest, or between the name's
// beginning and the tag.
func fitImage(ref string, columns int) string {
	over := utf8.RuneCountInString(ref) - columns
	if over <= 0 {
		return ref
	}
	name := ref[strings.LastIndex(ref, "/")+1:]
	switch {
	case utf8.RuneCountInString(name) < columns:
		return "…" + string([]rune(ref)[over+1:])
	case strings.Contains(name, "@"):
		return terminal.Fit(name, columns)
	default:
		return terminal.FitMiddle(name, columns)
	}
}
