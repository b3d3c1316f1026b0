// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package memo

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// modelled is a cached result in the model.
type modelled struct {
	list string
	size int64
}

// After any sequence of calls, the cache equals a list that drops its least recently used entries, and does not exceed its limit.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int64{1, 2100, 6000, 14_100, 20_000}).Draw(t, "limit")
		c, err := New(limit, noop.Meter{})
		if err != nil {
			t.Fatal(err)
		}
		var kept []modelled
		var hits, misses, evictions int64
		encoded, err := proto.Marshal(&evaluationv1.Evaluation{Image: "i", Cached: true})
		if err != nil {
			t.Fatal(err)
		}
		put := func(list string, output []byte) {
			takes := int64(cap(output) + cap(encoded) + overhead)
			if takes > limit/sizeDivisor {
				return
			}
			kept = slices.DeleteFunc(kept, func(m modelled) bool { return m.list == list })
			kept = append(kept, modelled{list, takes})
			for sum(kept) > limit {
				kept = kept[1:]
				evictions++
			}
		}
		call := func(t *rapid.T) {
			list := strconv.Itoa(rapid.IntRange(0, 30).Draw(t, "list"))
			// Large results evict several small ones.
			size, fails := rapid.SampledFrom([]int{0, 0, 0, 1, 1000, 3000, 6000}).Draw(t, "size"), rapid.Bool().Draw(t, "fails")
			if rapid.Bool().Draw(t, "added") {
				resp := evaluation.Response{ResourceList: slices.Clip([]byte(list)), Report: &evaluationv1.Evaluation{Image: "i"}}
				c.Add("fn", evaluation.Request{ResourceList: []byte(list)}, resp)
				put(list, resp.ResourceList)
				return
			}
			var output []byte
			f := evaluation.Func(func(_ context.Context, req evaluation.Request) (evaluation.Response, error) {
				report := &evaluationv1.Evaluation{Image: req.Image}
				if fails {
					return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, "exit status 1"), nil
				}
				output = make([]byte, size)
				copy(output, list)
				return evaluation.Response{ResourceList: output, Report: report}, nil
			})
			got, err := c.Keep("fn", f).Evaluate(t.Context(), evaluation.Request{Image: "i", ResourceList: []byte(list)})
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(kept, func(m modelled) bool { return m.list == list })
			if got.Report.GetCached() != (at >= 0) {
				t.Fatalf("list %s: cached = %v, want index %d of %v", list, got.Report.GetCached(), at, kept)
			}
			if at >= 0 {
				hits++
				m := kept[at]
				kept = append(slices.Delete(kept, at, at+1), m)
				if output != nil || !strings.HasPrefix(list, strings.TrimRight(string(got.ResourceList), "\x00")) {
					t.Fatalf("list %s: response = %.10q", list, got.ResourceList)
				}
				return
			}
			misses++
			if !fails {
				put(list, output)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"call": call,
			"": func(t *rapid.T) {
				if c.bytes != sum(kept) || c.bytes > limit || c.results.Len() != len(kept) || len(c.flights) > 0 {
					t.Fatalf("%d results of %d bytes are cached, want %d of %d bytes; %d flights, want 0", c.results.Len(), c.bytes, len(kept), sum(kept), len(c.flights))
				}
				if n := &c.counts; n.hits.Load() != hits || n.misses.Load() != misses || n.evictions.Load() != evictions {
					t.Fatalf("counts = %+v, want %d, %d, %d", n, hits, misses, evictions)
				}
			},
		})
	})
}

func sum(kept []modelled) (all int64) {
	for _, m := range kept {
		all += m.size
	}
	return all
}
