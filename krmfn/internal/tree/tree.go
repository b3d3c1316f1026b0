// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package tree draws directories below each other, with lines from each to those below it.
package tree

import (
	"path"
	"slices"
	"strings"
)

// Directory is a directory of a tree.
type Directory struct {
	// Path is relative and clean, with slashes; "." is the root. It need not be directly below another one.
	Path string
	// Lines are what is drawn for the directory: its title, and lines below it.
	Lines []string
}

// Draw draws directories, in byte order, whatever the order of the argument. paint is applied to the lines between them.
func Draw(directories []Directory, paint func(string) string) string {
	d := drawing{below: map[string][]Directory{}, paint: paint}
	known := map[string]bool{}
	for _, dir := range directories {
		known[dir.Path] = true
	}
	for _, dir := range directories {
		above := parent(known, dir.Path)
		d.below[above] = append(d.below[above], dir)
	}
	for _, root := range d.below[""] {
		d.branch(root, "", "")
	}
	return d.text.String()
}

// parent returns the nearest directory above one; "" where there is none.
func parent(known map[string]bool, dir string) string {
	for dir != "." && dir != "/" {
		if dir = path.Dir(dir); known[dir] {
			return dir
		}
	}
	return ""
}

type drawing struct {
	text  strings.Builder
	below map[string][]Directory
	paint func(string) string
}

// branch draws a directory and all below it: head is in front of its title, rest in front of the lines below.
func (d *drawing) branch(dir Directory, head, rest string) {
	below := slices.Clone(d.below[dir.Path])
	slices.SortFunc(below, func(a, b Directory) int { return strings.Compare(a.Path, b.Path) })
	for i, line := range dir.Lines {
		switch {
		case i == 0:
			d.line(head, line)
		case len(below) > 0:
			d.line(rest+"│  ", line)
		default:
			d.line(rest+"   ", line)
		}
	}
	for i, sub := range below {
		if i == len(below)-1 {
			d.branch(sub, rest+"└─ ", rest+"   ")
		} else {
			d.branch(sub, rest+"├─ ", rest+"│  ")
		}
	}
}

func (d *drawing) line(head, text string) {
	d.text.WriteString(d.paint(head) + text + "\n")
}
