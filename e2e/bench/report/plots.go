// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

const width, height, barHeight = 22 * vg.Centimeter, 13 * vg.Centimeter, 8 * vg.Centimeter

// palette holds colours that colour-blind readers can distinguish (Okabe and Ito).
var palette = []color.RGBA{
	{R: 0, G: 114, B: 178, A: 255},
	{R: 213, G: 94, B: 0, A: 255},
	{R: 0, G: 158, B: 115, A: 255},
	{R: 204, G: 121, B: 167, A: 255},
	{R: 230, G: 159, B: 0, A: 255},
	{R: 86, G: 180, B: 233, A: 255},
}

// Series is one line of a plot. X and Y have the same length.
type Series struct {
	Name string
	X, Y []float64
}

// WriteSeries writes an SVG plot of lines.
func WriteSeries(w io.Writer, title, x, y string, lines []Series) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Legend.Top, p.Legend.Padding = true, vg.Points(3)
	p.Add(plotter.NewGrid())
	for i, series := range lines {
		points := make(plotter.XYs, len(series.X))
		for j := range series.X {
			points[j] = plotter.XY{X: series.X[j], Y: series.Y[j]}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = palette[i%len(palette)], vg.Points(1.5)
		p.Add(line)
		p.Legend.Add(series.Name, line)
	}
	return write(w, p, height)
}

// Bar is one bar of a plot. A line shows the range from Least to Most.
type Bar struct {
	// Name is the label. It may contain line breaks.
	Name               string
	Value, Least, Most float64
	// Colour is an index of the palette.
	Colour int
}

// WriteBars writes an SVG plot of bars.
func WriteBars(w io.Writer, title, y string, bars []Bar) error {
	p := plot.New()
	p.Title.Text, p.Y.Label.Text = title, y
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	p.Add(grid)
	names := make([]string, len(bars))
	var ranges struct {
		plotter.XYs
		plotter.YErrors
	}
	for i, b := range bars {
		bar, err := plotter.NewBarChart(plotter.Values{b.Value}, vg.Points(45))
		if err != nil {
			return err
		}
		bar.XMin, bar.Color, bar.LineStyle.Width = float64(i), palette[b.Colour%len(palette)], 0
		p.Add(bar)
		names[i] = b.Name
		ranges.XYs = append(ranges.XYs, plotter.XY{X: float64(i), Y: b.Value})
		ranges.YErrors = append(ranges.YErrors, struct{ Low, High float64 }{b.Value - b.Least, b.Most - b.Value})
	}
	spread, err := plotter.NewYErrorBars(ranges)
	if err != nil {
		return err
	}
	p.Add(spread)
	p.NominalX(names...)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.6, float64(len(bars))-0.4, 0, p.Y.Max*1.05
	return write(w, p, barHeight)
}

func write(w io.Writer, p *plot.Plot, height vg.Length) error {
	p.BackgroundColor = color.White
	to, err := p.WriterTo(width, height, "svg")
	if err != nil {
		return err
	}
	_, err = to.WriteTo(w)
	return err
}
