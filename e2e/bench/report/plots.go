// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Latencies is one line of a plot.
type Latencies struct {
	Name string
	// Microseconds holds the latencies. It must not be empty.
	Microseconds *hdrhistogram.Histogram
	// Lines with the same Group have the same colour. Limit makes the line dashed.
	Group int
	Limit bool
}

const width, height = 22 * vg.Centimeter, 13 * vg.Centimeter

// palette holds colours that colour-blind readers can distinguish (Okabe and Ito).
var palette = []color.RGBA{
	{R: 0, G: 114, B: 178, A: 255},
	{R: 213, G: 94, B: 0, A: 255},
	{R: 0, G: 158, B: 115, A: 255},
	{R: 204, G: 121, B: 167, A: 255},
	{R: 230, G: 159, B: 0, A: 255},
	{R: 86, G: 180, B: 233, A: 255},
}

// WriteLatencies writes an SVG plot of latencies by percentile. Without lines it writes nothing. The x axis has the scale of HDR
// histograms, on which each additional nine takes the same width; the y axis is logarithmic. A line ends where its histogram has no more
// values.
func WriteLatencies(w io.Writer, title string, lines []Latencies) error {
	if len(lines) == 0 {
		return nil
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "Percentile", "Latency from when the call was due (ms)"
	p.X.Tick.Marker = plot.ConstantTicks(percentiles(lines))
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Points(3)
	p.Add(plotter.NewGrid())
	for _, l := range lines {
		if err := addLine(p, l.Name, l.points(), l.Group, l.Limit); err != nil {
			return err
		}
	}
	return write(w, logarithmic(p))
}

// points returns a point for each step of the histogram. The maximum is infinitely far out on the scale, so it is drawn at the percentile
// that leaves half a value above it.
func (l Latencies) points() plotter.XYs {
	total, brackets := float64(l.Microseconds.TotalCount()), l.Microseconds.CumulativeDistributionWithTicks(20)
	points := make(plotter.XYs, 0, len(brackets))
	for _, bracket := range brackets {
		within := min(bracket.Quantile/100, 1-1/(2*total))
		points = append(points, plotter.XY{X: nines(within), Y: float64(bracket.ValueAt) / 1000})
	}
	return points
}

// nines returns the position of a share of the values on the x axis.
func nines(share float64) float64 { return -math.Log10(1 - share) }

// percentiles returns the ticks up to the end of the longest line.
func percentiles(lines []Latencies) []plot.Tick {
	var most int64
	for _, l := range lines {
		most = max(most, l.Microseconds.TotalCount())
	}
	var ticks []plot.Tick
	for _, percentile := range []float64{0, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.999} {
		if (100-percentile)/100*float64(most) >= 0.5 {
			ticks = append(ticks, plot.Tick{Value: nines(percentile / 100), Label: strconv.FormatFloat(percentile, 'f', -1, 64) + " %"})
		}
	}
	return ticks
}

func write(w io.Writer, p *plot.Plot) error {
	p.BackgroundColor = color.White
	to, err := p.WriterTo(width, height, "svg")
	if err != nil {
		return err
	}
	_, err = to.WriteTo(w)
	return err
}

// Throughputs is one line of a plot of calls per second by the number of callers.
type Throughputs struct {
	Name string
	// Callers is in ascending order. Rates has the same length.
	Callers []int
	Rates   []float64
	// Limit makes the line dashed.
	Limit bool
}

// WriteThroughputs writes an SVG plot of throughput by the number of callers. Both axes are logarithmic. Without lines it writes nothing.
func WriteThroughputs(w io.Writer, title string, lines []Throughputs) error {
	if len(lines) == 0 {
		return nil
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "Callers", "Calls a second"
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(3)
	p.Add(plotter.NewGrid())
	for i, l := range lines {
		points := make(plotter.XYs, len(l.Callers))
		ticks := make([]plot.Tick, len(l.Callers))
		for j, callers := range l.Callers {
			points[j] = plotter.XY{X: math.Log2(float64(callers)), Y: l.Rates[j]}
			ticks[j] = plot.Tick{Value: points[j].X, Label: strconv.Itoa(callers)}
		}
		if err := addLine(p, l.Name, points, i, l.Limit); err != nil {
			return err
		}
		p.X.Tick.Marker = plot.ConstantTicks(ticks)
	}
	return write(w, logarithmic(p))
}

// logarithmic gives the y axis of a plot a logarithmic scale, and leaves room for the legend above the lines and for the last label of the
// x axis.
func logarithmic(p *plot.Plot) *plot.Plot {
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Min, p.Y.Max = p.Y.Min*.8, p.Y.Max*8
	p.X.Max += .1
	return p
}

// addLine adds a line and its legend entry. The colour is the palette's colour with the given index.
func addLine(p *plot.Plot, name string, points plotter.XYs, colour int, dashed bool) error {
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = palette[colour%len(palette)], vg.Points(1.5)
	if dashed {
		line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	}
	p.Add(line)
	p.Legend.Add(name, line)
	return nil
}

// Starts is one bar of a plot of start times.
type Starts struct {
	// Name is the label of the bar. It may contain line breaks.
	Name string
	// Times must not be empty.
	Times []time.Duration
	// Limit makes the bar pale.
	Limit bool
}

// Median returns the median start time.
func (s Starts) Median() time.Duration { return Median(s.Times) }

// WriteStarts writes an SVG plot with a bar for each median and a dot for each start. Without bars it writes nothing.
func WriteStarts(w io.Writer, title string, bars []Starts) error {
	if len(bars) == 0 {
		return nil
	}
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
