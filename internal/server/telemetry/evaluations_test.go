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
		before bool // an earlier call has resolved the image
		resp   evaluation.Response
		err    error
		want   string
	}{
		"response":                           {resp: answer, want: "r.io/a/fn"},
		"pod does not start":                 {err: failed(false), want: "r.io/a/fn"},
		"rejected image":                     {err: failed(true), want: "unknown"},
		"rejected image that was known":      {before: true, err: failed(true), want: "unknown"},
		"busy":                               {before: true, err: &evaluation.BusyError{}, want: "r.io/a/fn"},
		"busy before the image is known":     {err: &evaluation.BusyError{}, want: "unknown"},
		"deadline":                           {before: true, err: context.DeadlineExceeded, want: "r.io/a/fn"},
		"deadline before the image is known": {err: context.DeadlineExceeded, want: "unknown"},
		"image that no evaluator knows":      {err: &evaluation.NotFoundError{}, want: "unknown"},
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
				t.Errorf("repository() = %q, want %q", got, tc.want)
			}
		})
	}
}
