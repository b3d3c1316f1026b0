// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"path"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render"
)

// tree draws packages below each other, whatever the order in which they are rendered, with how many functions each has.
func tree(style terminal.Style, packages []render.PlannedPackage) string {
	above := map[string][]render.PlannedPackage{}
	dirs := map[string]bool{}
	for _, p := range packages {
		dirs[p.Package] = true
	}
	for _, p := range packages {
		above[parent(dirs, p.Package)] = append(above[parent(dirs, p.Package)], p)
	}
	var b strings.Builder
	for _, root := range above[""] {
		branch(&b, style, above, root, "", "")
	}
	return b.String()
}

// parent returns the directory of the nearest package above one; "" where there is none.
func parent(dirs map[string]bool, dir string) string {
	for dir != "." && dir != "/" {
		if dir = path.Dir(dir); dirs[dir] {
			return dir
		}
	}
	return ""
}

// branch draws a package and all below it: head is in front of its own line, rest in front of the lines below.
func branch(b *strings.Builder, style terminal.Style, above map[string][]render.PlannedPackage, p render.PlannedPackage, head, rest string) {
	b.WriteString(style.Dim(head) + style.Bold(terminal.Safe(path.Base(p.Name))) + "  " + style.Dim(terminal.Count(p.Functions, "function")) + "\n")
	below := slices.Clone(above[p.Package])
	slices.SortFunc(below, func(a, b render.PlannedPackage) int { return strings.Compare(a.Package, b.Package) })
	for i, sub := range below {
		if i == len(below)-1 {
			branch(b, style, above, sub, rest+"└─ ", rest+"   ")
		} else {
			branch(b, style, above, sub, rest+"├─ ", rest+"│  ")
		}
	}
}
