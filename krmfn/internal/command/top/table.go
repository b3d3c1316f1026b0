// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strconv"
	"time"

	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

// document is the output in JSON.
type document struct {
	Functions []row `json:"functions"`
}

// row is a function with pods.
type row struct {
	// Image is the image as calls name it, resolved, and Digest that of new calls.
	Image  string `json:"image"`
	Digest string `json:"digest,omitempty"`
	Pods   pods   `json:"pods"`
	// Running and Waiting are calls.
	Running int32 `json:"running"`
	Waiting int32 `json:"waiting"`
	// MedianSeconds is of the last calls; 0 before the first.
	MedianSeconds float64 `json:"medianSeconds,omitempty"`
	// LastFailure is why the last pod did not start.
	LastFailure string `json:"lastFailure,omitempty"`
}

// pods are numbers of pods by state.
type pods struct {
	Starting    int32 `json:"starting"`
	Ready       int32 `json:"ready"`
	Unreachable int32 `json:"unreachable"`
	Leaving     int32 `json:"leaving"`
}

func newRow(f *evaluatorv1.Function) row {
	image, p := f.GetName(), f.GetPods()
	if len(f.GetImages()) > 0 {
		image = f.GetImages()[0]
	}
	return row{
		Image: image, Digest: p.GetDigest(),
		Pods:    pods{Starting: p.GetStarting(), Ready: p.GetReady(), Unreachable: p.GetUnreachable(), Leaving: p.GetLeaving()},
		Running: p.GetRunning(), Waiting: p.GetWaiting(),
		MedianSeconds: p.GetMedianDuration().AsDuration().Seconds(), LastFailure: p.GetLastFailure(),
	}
}

// shortDigest is the length of a digest in the table, the same as in container engines' tables.
const shortDigest = len("sha256:") + 12

func write(out terminal.Stream, rows []row) {
	if len(rows) == 0 {
		fmt.Fprintln(out, "No function has pods.")
		return
	}
	cells := make([][]report.Cell, 0, len(rows))
	for _, r := range rows {
		image := report.Text(r.Image)
		image.Paint = out.Style.Bold
		failure := report.Text(r.LastFailure)
		failure.Paint, failure.Fit = out.Style.Red, func(text string, columns int) string {
			return string([]rune(text)[:max(columns-1, 0)]) + "…"
		}
		cells = append(cells, []report.Cell{
			image, report.Text(r.Digest[:min(len(r.Digest), shortDigest)]), count(r.Pods.Ready, out.Style.Green), count(r.Pods.Starting, out.Style.Yellow),
			count(r.Pods.Unreachable, out.Style.Red), count(r.Pods.Leaving, nil), count(r.Running, nil), count(r.Waiting, out.Style.Yellow),
			report.Text(median(r.MedianSeconds)), failure,
		})
	}
	report.WriteTable(out, []string{"IMAGE", "DIGEST", "READY", "STARTING", "UNREACHABLE", "LEAVING", "RUNNING", "WAITING", "P50", "LAST FAILURE"}, cells)
}

// count returns a cell that is coloured unless the number is 0.
func count(n int32, paint func(string) string) report.Cell {
	cell := report.Text(strconv.Itoa(int(n)))
	if n > 0 {
		cell.Paint = paint
	}
	return cell
}

func median(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return time.Duration(seconds * float64(time.Second)).Round(100 * time.Microsecond).String()
}
