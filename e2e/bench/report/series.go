// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

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
	for i, line := range lines {
		points := make(plotter.XYs, len(line.X))
		for j := range line.X {
			points[j] = plotter.XY{X: line.X[j], Y: line.Y[j]}
		}
		if err := addLine(p, line.Name, points, i, false); err != nil {
			return err
		}
	}
	return write(w, p)
}
