// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"strings"
)

// The sizes of the picture, in pixels. A character of most monospaced fonts is six tenths of its size wide.
const (
	fontSize   = 13
	cellWidth  = 7.8
	lineHeight = 18
	margin     = 16
)

// style has the colours, for light and for dark surroundings.
const style = `
    .paper { fill: #ffffff; stroke: #d0d7de }
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; fill: #1f2328; white-space: pre }
    .bold { font-weight: bold }
    .dim { fill: #656d76 }
    .red { fill: #b3261e }
    .green { fill: #116329 }
    .yellow { fill: #7d4e00 }
    .cyan { fill: #0a6170 }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117; stroke: #30363d }
      text { fill: #e6edf3 }
      .dim { fill: #8d96a0 }
      .red { fill: #ff7b72 }
      .green { fill: #56d364 }
      .yellow { fill: #e3b341 }
      .cyan { fill: #56d4dd }
    }
  `

// svg draws lines. Each piece of text is as long as it would be on a terminal, whatever font there is.
func svg(lines []line) []byte {
	const width = 2*margin + columns*cellWidth
	height := 2*margin + len(lines)*lineHeight
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%d" viewBox="0 0 %[1]s %[2]d" role="img">`+"\n", pixels(width), height)
	fmt.Fprintln(&b, "  <!-- Copyright The krmfn Authors, SPDX-License-Identifier: Apache-2.0. Made by e2e/cmd/demopicture. -->")
	fmt.Fprintln(&b, "  <title>What a terminal shows of make demo</title>")
	fmt.Fprintln(&b, "  <desc>Times, the port and the directory are replaced by fixed ones. What make builds first is left out, and so are most changes.</desc>")
	fmt.Fprintf(&b, "  <style>%s</style>\n", style)
	fmt.Fprintf(&b, `  <rect class="paper" x="0.5" y="0.5" width="%s" height="%d" rx="8"/>`+"\n", pixels(width-1), height-1)
	for i, l := range lines {
		drawLine(&b, l, margin+i*lineHeight+fontSize)
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

// drawLine draws each run of characters of one style; two spaces end a run, too.
func drawLine(b *bytes.Buffer, l line, y int) {
	for from := 0; from < len(l); {
		if l[from].char == ' ' {
			from++
			continue
		}
		to := from + 1
		for to < len(l) && l[to].style == l[from].style && !gap(l[to:]) {
			to++
		}
		class := ""
		if name := l[from].style; name != "" {
			class = fmt.Sprintf(` class="%s"`, name)
		}
		text := strings.TrimRight(l[from:to].String(), " ")
		fmt.Fprintf(b, `  <text%s x="%s" y="%d" textLength="%s">%s</text>`+"\n",
			class, pixels(margin+float64(from)*cellWidth), y, pixels(float64(len([]rune(text)))*cellWidth), html.EscapeString(text))
		from = to
	}
}

// gap tells whether text goes on only after two spaces.
func gap(l line) bool {
	return len(l) > 1 && !slices.ContainsFunc(l[:2], func(c cell) bool { return c.char != ' ' })
}

func pixels(n float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.1f", n), "0"), ".")
}
