// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
)

// Sizes in pixels: a unit of Grafana's grid, and the margins outside and inside of a panel.
const (
	unitWidth, unitHeight = 46, 24
	gap, inside           = 3, 10
	columns               = 24
)

// style holds the colours for light and dark themes. The colours of lines are distinguishable for colour-blind readers (Okabe and Ito).
const style = `
    .paper { fill: #f4f5f5 } .panel { fill: #ffffff; stroke: #d0d7de }
    text { font: 12px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
    .row { font-size: 15px; font-weight: 600 } .title { font-weight: 600 } .faint { fill: #656d76; font-size: 11px } .big { font-size: 30px; font-weight: 600 }
    .green { fill: #116329 } .orange { fill: #b35900 } .red { fill: #b3261e } .axis { stroke: #d0d7de }
    .l { fill: none; stroke-width: 1.8 } 
    .s0 { stroke: #0072b2 } .s1 { stroke: #d55e00 } .s2 { stroke: #009e73 } .s3 { stroke: #cc79a7 } .s4 { stroke: #e69f00 } .s5 { stroke: #56b4e9 }
    .f0 { fill: #0072b2 } .f1 { fill: #d55e00 } .f2 { fill: #009e73 } .f3 { fill: #cc79a7 } .f4 { fill: #e69f00 } .f5 { fill: #56b4e9 }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #111217 } .panel { fill: #181b1f; stroke: #30363d } text { fill: #e6edf3 } .faint { fill: #8d96a0 } .axis { stroke: #30363d }
      .green { fill: #56d364 } .orange { fill: #ff9f43 } .red { fill: #ff7b72 }
    }
  `

const lineColors = 6

// svg draws an evaluated dashboard.
func svg(d *dashboard) []byte {
	height := 0
	for _, p := range d.Panels {
		height = max(height, (p.Place.Y+p.Place.Height)*unitHeight)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">`+"\n", columns*unitWidth, height+gap)
	fmt.Fprintln(&b, "  <!-- Copyright The krmfn Authors, SPDX-License-Identifier: Apache-2.0. Made by e2e/cmd/dashboardpicture. -->")
	fmt.Fprintf(&b, "  <title>The dashboard %s over example data</title>\n  <style>%s</style>\n", d.Title, style)
	fmt.Fprintln(&b, `  <rect class="paper" width="100%" height="100%"/>`)
	for _, p := range d.Panels {
		fmt.Fprintf(&b, `  <g transform="translate(%d %d)">`+"\n", p.Place.X*unitWidth+gap, p.Place.Y*unitHeight+gap)
		c := canvas{&b, float64(p.Place.Width*unitWidth - 2*gap), float64(p.Place.Height*unitHeight - 2*gap)}
		c.panel(p)
		fmt.Fprintln(&b, "  </g>")
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

// canvas is the drawing area of a panel.
type canvas struct {
	*bytes.Buffer
	width, height float64
}

func (c canvas) text(class string, x, y float64, anchor, text string) {
	fmt.Fprintf(c, `    <text class="%s" x="%.0f" y="%.0f" text-anchor="%s">%s</text>`+"\n", class, x, y, anchor, html.EscapeString(text))
}

func (c canvas) panel(p *panel) {
	if p.Type == "row" {
		c.text("row", 4, 16, "start", p.Title)
		return
	}
	fmt.Fprintf(c, `    <rect class="panel" width="%.0f" height="%.0f" rx="3"/>`+"\n", c.width, c.height)
	c.text("title", inside, 18, "start", p.Title)
	switch p.Type {
	case "stat":
		c.stat(p)
	case "table":
		c.table(p)
	case "timeseries":
		c.lines(p)
	}
}

func (c canvas) stat(p *panel) {
	for _, s := range p.Targets[0].matrix {
		value := latest(s)
		c.text("big "+p.color(value), c.width/2, c.height/2+24, "middle", format(value, p.Fields.Defaults.Unit))
	}
}

func latest(s promql.Series) float64 { return s.Floats[len(s.Floats)-1].F }

// table draws a row for each function and a column for each query.
func (c canvas) table(p *panel) {
	const functionColumns, rowHeight = 3, 20
	rows := map[string][]string{}
	columnWidth := c.width / float64(len(p.Targets)+functionColumns)
	right := func(i int) float64 { return columnWidth*float64(i+1+functionColumns) - inside }
	c.text("faint", inside, 40, "start", "Function")
	for i, t := range p.Targets {
		c.text("faint", right(i), 40, "end", p.Fields.Overrides[i].Matcher.Options)
		for _, s := range t.matrix {
			image := s.Metric.Get("image")
			if rows[image] == nil {
				rows[image] = make([]string, len(p.Targets))
			}
			rows[image][i] = format(latest(s), p.Fields.Overrides[i].Properties[0].Value)
		}
	}
	for n, image := range slices.Sorted(maps.Keys(rows)) {
		y := float64(62 + n*rowHeight)
		c.text("", inside, y, "start", image)
		for i, value := range rows[image] {
			c.text("", right(i), y, "end", cmp.Or(value, "-"))
		}
	}
}

// lines draws series as lines with a legend. They are stacked if the panel's settings say so.
func (c canvas) lines(p *panel) {
	const left, top = 74, 32
	var names []string
	var values [][]float64
	steps := int((last-first)/step) + 1
	below, most := make([]float64, steps), 0.0
	stacked := p.Fields.Defaults.Custom.Stacking.Mode == "normal"
	for _, t := range p.Targets {
		for _, s := range t.matrix {
			line := slices.Repeat([]float64{math.NaN()}, steps)
			for _, point := range s.Floats {
				i := int((time.Duration(point.T)*time.Millisecond - first) / step)
				line[i] = point.F
				if stacked {
					below[i] += point.F
					line[i] = below[i]
				}
				if !math.IsNaN(line[i]) {
					most = max(most, line[i])
				}
			}
			names, values = append(names, t.name(s.Metric)), append(values, line)
		}
	}
	bottom := c.legend(names) + 14
	most = cmp.Or(most*1.1, 1)
	x := func(i int) float64 { return left + float64(i)*(c.width-left-inside)/float64(steps-1) }
	y := func(v float64) float64 { return c.height - bottom - v/most*(c.height-top-bottom) }
	for _, v := range []float64{0, most / 2, most} {
		fmt.Fprintf(c, `    <path class="axis" d="M%d %.1fH%.1f"/>`+"\n", left, y(v), c.width-inside)
		c.text("faint", left-6, y(v)+4, "end", format(v, p.Fields.Defaults.Unit))
	}
	for n, line := range values {
		var drawn strings.Builder
		pen := "M"
		for i, v := range line {
			if math.IsNaN(v) {
				pen = "M"
				continue
			}
			fmt.Fprintf(&drawn, "%s%.1f %.1f", pen, x(i), y(v))
			pen = "L"
		}
		fmt.Fprintf(c, `    <path class="l s%d" d="%s"/>`+"\n", n%lineColors, drawn.String())
	}
}

// legend draws the names of the lines at the bottom of the panel and returns the height of the legend. It shortens images to the last path
// element.
func (c canvas) legend(names []string) float64 {
	const entry, lineHeight = 6.2, 15
	type place struct {
		x    float64
		line int
	}
	places, at := make([]place, len(names)), place{x: inside}
	for n, name := range names {
		names[n] = path.Base(name)
		needs := 24 + entry*float64(len(names[n]))
		if at.x > inside && at.x+needs > c.width {
			at = place{inside, at.line + 1}
		}
		places[n] = at
		at.x += needs
	}
	for n, name := range names {
		y := c.height - 8 - float64((at.line-places[n].line)*lineHeight)
		fmt.Fprintf(c, `    <rect class="f%d" x="%.0f" y="%.0f" width="10" height="3"/>`+"\n", n%lineColors, places[n].x, y-5)
		c.text("faint", places[n].x+14, y, "start", name)
	}
	return float64((at.line+1)*lineHeight) + 8
}

// format formats a value in one of Grafana's units.
func format(value float64, unit string) string {
	switch {
	case math.IsNaN(value):
		return "-"
	case unit == "percentunit":
		return short(value*100) + "%"
	case unit == "bytes":
		return scaled(value, 1024, []string{" B", " KiB", " MiB", " GiB"})
	case unit == "reqps":
		return short(value) + " req/s"
	case unit == "ops":
		return short(value) + " ops/s"
	case unit == "s" && value >= 2*24*3600:
		return short(value/24/3600) + " days"
	case unit == "s" && value >= 2*3600:
		return short(value/3600) + " hours"
	case unit == "s" && value >= 2*60:
		return short(value/60) + " min"
	case unit == "s" && value > 0 && value < 1:
		return short(value*1000) + " ms"
	case unit == "s":
		return short(value) + " s"
	}
	return short(value)
}

func scaled(value, base float64, units []string) string {
	i := 0
	for ; value >= base && i < len(units)-1; i++ {
		value /= base
	}
	return short(value) + units[i]
}

// short formats a value with three significant digits.
func short(value float64) string {
	if value == 0 {
		return "0"
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(value)))))
	text := strconv.FormatFloat(value, 'f', min(digits, 3), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
