// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// span is a row in the picture.
type span struct {
	*tracepb.Span
	service string
	depth   int
}

// spansOf returns the spans of a trace in depth-first order. Children follow their parent, sorted by start time.
func spansOf(traces *tracepb.TracesData) []span {
	children := map[string][]span{}
	known := map[string]bool{}
	for _, resource := range traces.GetResourceSpans() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				children[string(s.GetParentSpanId())] = append(children[string(s.GetParentSpanId())], span{Span: s, service: service})
				known[string(s.GetSpanId())] = true
			}
		}
	}
	var all []span
	var add func(parent string, depth int)
	add = func(parent string, depth int) {
		slices.SortFunc(children[parent], func(a, b span) int { return cmp.Compare(a.GetStartTimeUnixNano(), b.GetStartTimeUnixNano()) })
		for _, s := range children[parent] {
			s.depth = depth
			all = append(all, s)
			add(string(s.GetSpanId()), depth+1)
		}
	}
	// The parent of a root span is missing or not among the spans.
	for parent := range children {
		if !known[parent] {
			add(parent, 0)
		}
	}
	return all
}

// Sizes in pixels.
const (
	width, lineHeight, top = 1000, 40, 40
	names, bars            = 16, 560
)

const style = `
    .paper { fill: #ffffff; stroke: #d0d7de } .grid { stroke: #d0d7de }
    text { font: 12px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 } .faint { fill: #656d76; font-size: 11px }
    .s0 { fill: #0072b2 } .s1 { fill: #d55e00 } .s2 { fill: #009e73 } .s3 { fill: #cc79a7 }
    @media (prefers-color-scheme: dark) { .paper { fill: #0d1117; stroke: #30363d } .grid { stroke: #30363d } text { fill: #e6edf3 } .faint { fill: #8d96a0 } }
  `

// svg draws spans as bars on a common time axis, one row each.
func svg(spans []span) []byte {
	var services []string
	begin, end := spans[0].GetStartTimeUnixNano(), spans[0].GetEndTimeUnixNano()
	for _, s := range spans {
		if !slices.Contains(services, s.service) {
			services = append(services, s.service)
		}
		begin, end = min(begin, s.GetStartTimeUnixNano()), max(end, s.GetEndTimeUnixNano())
	}
	x := func(at uint64) float64 { return bars + float64(at-begin)/float64(end-begin)*(width-bars-16) }
	height := top + len(spans)*lineHeight + 8
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">`+"\n", width, height)
	fmt.Fprintln(&b, "  <!-- Copyright The krmfn Authors, SPDX-License-Identifier: Apache-2.0. Made by e2e/cmd/tracepicture. -->")
	fmt.Fprintf(&b, "  <title>The spans of one call</title>\n  <style>%s</style>\n", style)
	fmt.Fprintf(&b, `  <rect class="paper" x="0.5" y="0.5" width="%d" height="%d" rx="6"/>`+"\n", width-1, height-1)
	for i := range 5 {
		at := begin + (end-begin)*uint64(i)/4
		fmt.Fprintf(&b, `  <path class="grid" d="M%.1f %dV%d"/>`+"\n", x(at), top-8, height-8)
		fmt.Fprintf(&b, `  <text class="faint" x="%.1f" y="22" text-anchor="middle">%s</text>`+"\n", min(x(at), width-36), milliseconds(at-begin))
	}
	for i, s := range spans {
		y, left := top+i*lineHeight, names+16*s.depth
		fmt.Fprintf(&b, `  <text x="%d" y="%d">%s</text>`+"\n", left, y+14, html.EscapeString(s.GetName()))
		fmt.Fprintf(&b, `  <text class="faint" x="%d" y="%d">%s, %s</text>`+"\n", left, y+28, html.EscapeString(s.service), milliseconds(s.GetEndTimeUnixNano()-s.GetStartTimeUnixNano()))
		fmt.Fprintf(&b, `  <rect class="s%d" x="%.1f" y="%d" width="%.1f" height="14" rx="2"/>`+"\n", slices.Index(services, s.service)%4, x(s.GetStartTimeUnixNano()), y+6,
			max(x(s.GetEndTimeUnixNano())-x(s.GetStartTimeUnixNano()), 2))
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

func milliseconds(nanoseconds uint64) string {
	ms := float64(nanoseconds) / 1e6
	if ms < 10 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}
