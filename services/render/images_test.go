// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

// lister has the tags of repositories. Each call takes a second. It records the calls.
type lister struct {
	tags map[string][]string
	err  error
	// before is called at the start of each call.
	before func()

	mu           sync.Mutex
	asked        []string
	running, max int
}

func (l *lister) Tags(ctx context.Context, repository string) ([]string, error) {
	l.mu.Lock()
	l.asked = append(l.asked, repository)
	l.running++
	l.max = max(l.max, l.running)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running--
	}()
	if l.before != nil {
		l.before()
	}
	select {
	case <-time.After(time.Second):
		return l.tags[repository], l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Before the first function runs, all constraints are resolved with one call per repository. Exact tags need no call.
func TestConstraintsAreResolvedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, err := packages.NewMemory(map[string]string{
			"Kptfile":   kpt(mutators(`{image: one, tag: "~1"}`, `{image: "one:v5", tag: ">=1 <3"}`, `{image: exact, tag: v1}`, "bare") + "  validators:\n  - {image: r.io/two, tag: ^0.1}\n"),
			"a/Kptfile": kpt(mutators(`{image: one, tag: "~1"}`, `{image: r.io/three, tag: "*"}`)),
		})
		if err != nil {
			t.Fatal(err)
		}
		l := &lister{tags: map[string][]string{
			"p.io/one": {"v1.0.0", "v1.0.7", "v2.1", "v3"}, "r.io/two": {"v0.1", "latest", "v0.1.2"}, "r.io/three": {"0.3.0"},
		}}
		p := &prepared{fake: fake{functions: functions{
			"p.io/one:v1.0.7": each(), "p.io/one:v2.1": each(), "p.io/exact:v1": each(), "p.io/bare:latest": each(), "r.io/two:v0.1.2": each(), "r.io/three:0.3.0": each(),
		}}}
		l.before = func() {
			if len(p.inputs) > 0 {
				t.Error("a function ran before the tags were listed")
			}
		}
		begin := time.Now()
		result, err := render.Package(t.Context(), source, render.Options{Evaluator: p, ImagePrefix: "p.io", Tags: l, WriteStatus: true})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("listing took %v, want the calls to run in parallel", took)
		}
		slices.Sort(l.asked)
		if diff := cmp.Diff([]string{"p.io/one", "r.io/three", "r.io/two"}, l.asked); diff != "" {
			t.Errorf("listed repositories (-want +got):\n%s", diff)
		}
		want := []string{"p.io/one:v1.0.7", "r.io/three:0.3.0", "p.io/one:v1.0.7", "p.io/one:v2.1", "p.io/exact:v1", "p.io/bare:latest", "r.io/two:v0.1.2"}
		var ran []string
		for _, f := range result.Report.Functions {
			ran = append(ran, f.Image)
		}
		if diff := cmp.Diff(want, ran); diff != "" {
			t.Errorf("images in the report (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([][]string{{want[0], want[1], want[3], want[4], want[5], want[6]}}, p.calls); diff != "" {
			t.Errorf("prepared images (-want +got):\n%s", diff)
		}
		source.Apply(result.Output.Changes)
		text := source.Files()["Kptfile"]
		for _, part := range []string{`{image: one, tag: "~1"}`, `{image: r.io/two, tag: ^0.1}`, "image: p.io/one:v1.0.7", "image: r.io/two:v0.1.2"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s is missing in the Kptfile:\n%s", part, text)
			}
		}
	})
}

func TestListingIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all []string
		for name := range strings.SplitSeq("abcdefghijklmnopqrstuvwxyz", "") {
			all = append(all, `{image: r.io/`+name+`, tag: "~1"}`)
		}
		source, err := packages.NewMemory(map[string]string{"Kptfile": kpt(mutators(all...))})
		if err != nil {
			t.Fatal(err)
		}
		gone := errors.New("gone")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 1500*time.Millisecond, gone)
		defer cancel()
		l := &lister{}
		if _, err := render.Package(ctx, source, render.Options{Tags: l}); err == nil {
			t.Error("Package() = nil, want an error")
		}
		if l.max != 8 || l.running != 0 {
			t.Errorf("%d concurrent calls, want 8; %d still running, want 0", l.max, l.running)
		}
	})
}

func TestConstraintErrors(t *testing.T) {
	t.Parallel()
	down := errors.New("registry down")
	const level = "fn.render: pkg /:\n\tpkg.render:\n\tpipeline.run: "
	for name, tc := range map[string]struct {
		lister *lister
		want   string
	}{
		"no tag matches": {
			&lister{tags: map[string][]string{"r.io/x": {"v0.9"}}},
			`no tag could be found matching the version constraint "~1.0": the highest version of r.io/x is v0.9`,
		},
		"listing fails": {
			&lister{err: down},
			"`function.tag` \"~1.0\" of image \"r.io/x\" is a version constraint, and the tags cannot be listed: registry down",
		},
		"listing fails, no known tag matches": {
			&lister{err: down, tags: map[string][]string{"r.io/x": {"v0.9"}}},
			"`function.tag` \"~1.0\" of image \"r.io/x\" is a version constraint, and the tags cannot be listed: registry down",
		},
		"listing fails, a known tag matches": {&lister{err: down, tags: map[string][]string{"r.io/x": {"v1.0.1"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				source, err := packages.NewMemory(map[string]string{"Kptfile": kpt(mutators(`{image: r.io/x, tag: "~1.0"}`))})
				if err != nil {
					t.Fatal(err)
				}
				f := &fake{functions: functions{"r.io/x:v1.0.1": each()}}
				_, err = render.Package(t.Context(), source, render.Options{Evaluator: f, Tags: tc.lister})
				text := ""
				if err != nil {
					text = strings.TrimPrefix(err.Error(), level)
				}
				if text != tc.want || tc.lister.err != nil && tc.want != "" && !errors.Is(err, down) {
					t.Errorf("error = %v\nwant %s", err, tc.want)
				}
			})
		})
	}
}

func TestFunctionWithConstraint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{functions: functions{"r.io/fn/rename:v1.3": items(rename)}}
		l := &lister{tags: map[string][]string{"r.io/fn/rename": {"v1.3", "v1.2", "v2"}}}
		_, record, err := render.Function(t.Context(), kptfilev1.Function{Image: "rename", Tag: "~1"}, nil, directory(t),
			render.Options{Evaluator: f, ImagePrefix: "r.io/fn", Tags: l})
		if err != nil || record.Image != "r.io/fn/rename:v1.3" {
			t.Errorf("Function() = %+v, %v", record, err)
		}
	})
}
