// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"image/color"
	"io"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Starts is one bar of a plot.
type Starts struct {
	// Name is what it stands for; lines are told apart by line breaks.
	Name string
	// Times must not be empty.
	Times []time.Duration
	// Limit has a bar drawn pale.
	Limit bool
}

// Median returns the time that half of the starts stayed within.
func (s Starts) Median() time.Duration {
	sorted := slices.Sorted(slices.Values(s.Times))
	return sorted[(len(sorted)-1)/2]
}

// WriteStarts writes an SVG plot with a bar for each median, and a dot for each start.
func WriteStarts(w io.Writer, title string, bars []Starts) error {
	p := plot.New()
	p.Title.Text, p.Y.Label.Text = title, "Time (s): the bars are medians, the dots single starts"
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	p.Add(grid)
	var names []string
	var dots plotter.XYs
	for i, s := range bars {
		bar, err := plotter.NewBarChart(plotter.Values{s.Median().Seconds()}, vg.Points(45))
		if err != nil {
			return err
		}
		bar.XMin, bar.Color, bar.LineStyle.Width = float64(i), palette[0], 0
		if s.Limit {
			bar.Color = color.RGBA{R: 170, G: 195, B: 215, A: 255}
		}
		p.Add(bar)
		names = append(names, fmt.Sprintf("%s\n%.2f s", s.Name, s.Median().Seconds()))
		for _, took := range s.Times {
			dots = append(dots, plotter.XY{X: float64(i), Y: took.Seconds()})
		}
	}
	scatter, err := plotter.NewScatter(dots)
	if err != nil {
		return err
	}
	scatter.GlyphStyle = draw.GlyphStyle{Color: palette[1], Radius: vg.Points(2), Shape: draw.CircleGlyph{}}
	p.Add(scatter)
	p.NominalX(names...)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.6, float64(len(bars))-0.4, 0, p.Y.Max*1.05
	return write(w, p)
}
