// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/images/registry"
)

func TestTags(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, tag := range []string{"v2", "v1", "latest"} {
		s.push(t, tag, newImage(t, "", runs("/fn")))
	}
	c := s.client(registry.Options{})
	for _, repository := range []string{s.host + "/team/fn", s.ref("v1"), s.host + "/team/fn@" + digest} {
		got, err := c.Tags(t.Context(), repository)
		if diff := cmp.Diff([]string{"latest", "v1", "v2"}, got); diff != "" || err != nil {
			t.Errorf("Tags(%s) = %v (-want +got):\n%s", repository, err, diff)
		}
	}
	if got, err := c.Tags(t.Context(), s.host+"/team/other"); kind(err) != "not found" {
		t.Errorf("Tags() of a missing repository = %q, %v; want a NotFoundError", got, err)
	}
	if got, err := c.Tags(t.Context(), "UPPER"); err == nil || !strings.Contains(err.Error(), "is invalid") {
		t.Errorf("Tags() of an invalid reference = %q, %v", got, err)
	}
}

// pages responds with pages of tags. Page number last-1 has no link to a next page. If last is 0, pages never end.
func pages(each, last int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/tags/list") {
			return false
		}
		var page int
		_, _ = fmt.Sscanf(r.URL.Query().Get("last"), "%d", &page)
		tags := make([]string, 0, each)
		for i := range each {
			tags = append(tags, fmt.Sprintf("v%d.%d", page, i))
		}
		if page+1 < last || last == 0 {
			w.Header().Set("Link", fmt.Sprintf(`<%s?n=%d&last=%d>; rel="next"`, r.URL.Path, each, page+1))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "team/fn", "tags": tags})
		return true
	}
}

func TestPagesOfTags(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		each, last int
		want, asks int
		err        string
	}{
		"one":                {each: 5, last: 1, want: 5, asks: 1},
		"some":               {each: 2, last: 3, want: 6, asks: 3},
		"without tags":       {last: 1, asks: 1},
		"most tags":          {each: 10_000, last: 1, want: 10_000, asks: 1},
		"most pages":         {each: 1, last: 64, want: 64, asks: 64},
		"one page more":      {each: 1, last: 65, err: "more than 64 pages of tags", asks: 64},
		"endless":            {err: "more than 64 pages of tags", asks: 64},
		"too many on a page": {each: 10_001, last: 1, err: "more than 10000 tags", asks: 1},
		"too many in total":  {each: 5001, last: 3, err: "more than 10000 tags", asks: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.answer(pages(tc.each, tc.last))
			got, err := s.client(registry.Options{}).Tags(t.Context(), s.host+"/team/fn")
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("Tags() = %v, want %q", err, tc.err)
			}
			if len(got) != tc.want {
				t.Errorf("%d tags, want %d", len(got), tc.want)
			}
			// The first request is a ping.
			if asked := s.asked(); len(asked) != tc.asks+1 {
				t.Errorf("%d requests, want %d", len(asked)-1, tc.asks)
			}
		})
	}
}

func TestInvalidTags(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for answer, want := range map[string]string{
		`{"tags":["v1","a b","","-x","v1@sha256:1","` + strings.Repeat("x", 129) + `","_v2"]}`: "v1 _v2",
		`{"tags":null}`: "",
		`{}`:            "",
	} {
		s.answer(always("/tags/list", http.StatusOK, answer))
		got, err := s.client(registry.Options{}).Tags(t.Context(), s.host+"/team/fn")
		if err != nil || strings.Join(got, " ") != want || got == nil {
			t.Errorf("Tags() of %.40s = %q, %v; want %q", answer, got, err, want)
		}
	}
	for answer, want := range map[string]string{
		`{"tags":"v1"}`: "cannot unmarshal", "": "EOF", "<html>": "invalid character",
		`{"tags":["` + strings.Repeat("x", 8<<20) + `"]}`: "larger than 8388608 bytes",
	} {
		s.answer(always("/tags/list", http.StatusOK, answer))
		if got, err := s.client(registry.Options{}).Tags(t.Context(), s.host+"/team/fn"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Tags() of %.40s = %q, %v; want %q", answer, got, err, want)
		}
	}
	// A link to a page on another server must be rejected, because the client would send credentials there.
	s.answer(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/tags/list") {
			return false
		}
		w.Header().Set("Link", `<https://other.example.org/v2/team/fn/tags/list>; rel="next"`)
		_, _ = io.WriteString(w, `{"tags":["v1"]}`)
		return true
	})
	if got, err := s.client(registry.Options{}).Tags(t.Context(), s.host+"/team/fn"); err == nil || !strings.Contains(err.Error(), "does not match registry") {
		t.Errorf("Tags() = %q, %v; want an error", got, err)
	}
}
