// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// round are ticks at round numbers from 0.
type round struct{}

// mostTicks is how many of them there may be.
const mostTicks = 12

// Ticks returns those up to most.
func (round) Ticks(_, most float64) []plot.Tick {
	magnitude := math.Floor(math.Log10(most / mostTicks))
	step := math.Pow(10, magnitude)
	for _, next := range []float64{2, 5, 10} {
		if most/step < mostTicks {
			break
		}
		step = next * math.Pow(10, magnitude)
	}
	var ticks []plot.Tick
	for i := 0; float64(i)*step <= most; i++ {
		value := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: value, Label: strconv.FormatFloat(value, 'f', max(0, -int(magnitude)), 64)})
	}
	return ticks
}
