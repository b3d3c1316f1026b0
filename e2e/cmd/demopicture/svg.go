// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Sizes of the picture in pixels. A character in most monospaced fonts is 0.6 times as wide as the font size.
const (
	fontSize   = 13
	cellWidth  = 7.8
	lineHeight = 18
	margin     = 16
)

// style holds the colours of the terminal's classes for light and dark themes.
const style = `
    .paper { fill: #ffffff; stroke: #d0d7de }
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; fill: #1f2328; white-space: pre }
    .term-fg1 { font-weight: bold }
    .term-fg2 { fill: #656d76 }
    .term-fg31 { fill: #b3261e }
    .term-fg32 { fill: #116329 }
    .term-fg33 { fill: #7d4e00 }
    .term-fg36 { fill: #0a6170 }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117; stroke: #30363d }
      text { fill: #e6edf3 }
      .term-fg2 { fill: #8d96a0 }
      .term-fg31 { fill: #ff7b72 }
      .term-fg32 { fill: #56d364 }
      .term-fg33 { fill: #e3b341 }
      .term-fg36 { fill: #56d4dd }
    }
  `

// svg draws lines. textLength gives each line the same width as on a terminal, whatever the font.
func svg(lines []line) []byte {
	const width = 2*margin + columns*cellWidth
	height := 2*margin + len(lines)*lineHeight
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%d" viewBox="0 0 %[1]s %[2]d" role="img" xml:space="preserve">`+"\n",
		pixels(width), height)
	fmt.Fprintln(&b, "  <!-- Copyright The krmfn Authors, SPDX-License-Identifier: Apache-2.0. Made by e2e/cmd/demopicture. -->")
	fmt.Fprintln(&b, "  <title>What a terminal shows of make demo</title>")
	fmt.Fprintln(&b, "  <desc>Times, the port and the directory are replaced by fixed ones. What make builds first is left out, and so are most changes.</desc>")
	fmt.Fprintf(&b, "  <style>%s</style>\n", style)
	fmt.Fprintf(&b, `  <rect class="paper" x="0.5" y="0.5" width="%s" height="%d" rx="8"/>`+"\n", pixels(width-1), height-1)
	// HTML uses span elements where SVG uses tspan.
	spans := strings.NewReplacer("<span ", "<tspan ", "</span>", "</tspan>")
	for i, l := range lines {
		content := strings.TrimLeft(string(l), " ")
		if content == "" {
			continue
		}
		begin := margin + float64(len(l)-len(content))*cellWidth
		length := float64(utf8.RuneCountInString(line(content).text())) * cellWidth
		fmt.Fprintf(&b, `  <text x="%s" y="%d" textLength="%s">%s</text>`+"\n", pixels(begin), margin+i*lineHeight+fontSize, pixels(length), spans.Replace(content))
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

func pixels(n float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0")
}
