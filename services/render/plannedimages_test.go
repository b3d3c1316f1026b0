// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

func TestPlannedImages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, err := packages.NewMemory(map[string]string{
			"Kptfile": kpt(mutators(`{image: one, tag: "~1"}`, `{exec: ./x}`, `{image: gone, tag: "~9"}`) +
				"  validators:\n  - {image: r.io/two@sha256:" + strings.Repeat("a", 64) + "}\n"),
			"a/Kptfile": kpt(mutators(`{image: "one:v1.0.7", name: a}`, "bare", `{image: gone, tag: "~9"}`)),
		})
		if err != nil {
			t.Fatal(err)
		}
		tree, err := packages.Open(source)
		if err != nil {
			t.Fatal(err)
		}
		plans, err := render.Plan(tree)
		if err != nil {
			t.Fatal(err)
		}
		l := &lister{tags: map[string][]string{"p.io/one": {"v1.0.0", "v1.0.7"}}}
		var got []string
		for _, image := range render.PlannedImages(t.Context(), plans, render.Options{ImagePrefix: "p.io", Tags: l}) {
			words := []string{image.Image}
			for _, f := range image.UsedBy {
				words = append(words, f.Package+":"+f.Function.Image)
			}
			if image.Err != nil {
				words = append(words, "("+image.Err.Error()+")")
			}
			got = append(got, strings.Join(words, " "))
		}
		want := []string{
			"p.io/one:v1.0.7 a:one:v1.0.7 .:one",
			"p.io/bare:latest a:bare",
			`gone a:gone .:gone (no tag could be found matching the version constraint "~9": p.io/gone has no tag that is a version, among 0 tags)`,
			"r.io/two@sha256:" + strings.Repeat("a", 64) + " .:r.io/two@sha256:" + strings.Repeat("a", 64),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("PlannedImages() (-want +got):\n%s", diff)
		}
		down := &lister{err: errors.New("down")}
		if got := render.PlannedImages(t.Context(), plans, render.Options{Tags: down}); len(got) != 5 || got[3].Err == nil || !strings.HasSuffix(got[3].Err.Error(), ": down") {
			t.Errorf("PlannedImages() if the registry is down = %+v", got)
		}
	})
}
