// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

// prepared is a fake that records the images to prepare and the number of functions that ran before.
type prepared struct {
	fake
	calls [][]string
	ran   int
}

func (p *prepared) Prepare(_ context.Context, images []string) ([]*evaluatorv1.PreparedFunction, error) {
	p.calls, p.ran = append(p.calls, images), len(p.inputs)
	return nil, errors.New("nothing can be prepared")
}

func TestAllImagesArePreparedInOneCall(t *testing.T) {
	t.Parallel()
	source, err := packages.NewMemory(map[string]string{
		"Kptfile":     kpt(mutators("root", "{exec: fn}") + "  validators:\n  - {image: check, tag: v1}\n"),
		"a/Kptfile":   kpt(mutators("one", "root")),
		"a/x/Kptfile": kpt(mutators(`{image: two, tag: "~1"}`, "{image: \"r.io/two:v2\"}")),
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &prepared{fake: fake{functions: functions{"r.io/two:v2": each()}}}
	if _, err = render.Package(t.Context(), source, render.Options{Evaluator: p, ImagePrefix: "p.io"}); err == nil {
		t.Fatal("Package() = nil, want an error")
	}
	if diff := cmp.Diff([][]string{{"r.io/two:v2", "p.io/one:latest", "p.io/root:latest", "p.io/check:v1"}}, p.calls); diff != "" || p.ran != 0 {
		t.Errorf("prepared images, after %d functions (-want +got):\n%s", p.ran, diff)
	}
}
