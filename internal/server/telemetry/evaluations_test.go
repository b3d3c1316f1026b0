// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"testing"

	lru "github.com/hashicorp/golang-lru/v2"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

func TestRepository(t *testing.T) {
	t.Parallel()
	answer := evaluation.Response{Report: &evaluationv1.Evaluation{Image: "r.io/a/fn:v1"}}
	failed := func(rejected bool) error {
		return &evaluation.StartError{Image: "r.io/a/fn:v1", Err: context.DeadlineExceeded, Rejected: rejected}
	}
	for name, tc := range map[string]struct {
		before bool // the image has been answered before
		resp   evaluation.Response
		err    error
		want   string
	}{
		"an answer":                   {resp: answer, want: "r.io/a/fn"},
		"no pod":                      {err: failed(false), want: "r.io/a/fn"},
		"no such image":               {err: failed(true), want: "unknown"},
		"an image that is gone":       {before: true, err: failed(true), want: "unknown"},
		"busy":                        {before: true, err: &evaluation.BusyError{}, want: "r.io/a/fn"},
		"busy before it is known":     {err: &evaluation.BusyError{}, want: "unknown"},
		"deadline":                    {before: true, err: context.DeadlineExceeded, want: "r.io/a/fn"},
		"deadline before it is known": {err: context.DeadlineExceeded, want: "unknown"},
		"no evaluator":                {err: &evaluation.NotFoundError{}, want: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known, err := lru.New[string, string](2)
			if err != nil {
				t.Fatal(err)
			}
			if tc.before {
				repository(known, "fn:v1", answer, nil)
			}
			if got := repository(known, "fn:v1", tc.resp, tc.err); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
