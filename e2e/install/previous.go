// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"os"

	"github.com/krmfn/krmfn/e2e/previous"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/progress"
	"github.com/krmfn/krmfn/e2e/registry/publish"
)

// Previous returns the release before this one, whose images are in the registry then, beside those of this one. It is built from
// the history of git unless this machine has it already.
func (i *Installation) Previous(ctx context.Context) (previous.Release, error) {
	checkout, err := binaries.Root()
	if err != nil {
		return previous.Release{}, err
	}
	builder, err := previous.New(checkout, progress.New(os.Stderr))
	if err != nil {
		return previous.Release{}, err
	}
	r, err := builder.Ensure(ctx)
	if err != nil {
		return previous.Release{}, err
	}
	_, err = publish.Layouts(ctx, r.Images, i.Registry+previousImages)
	return r, err
}

// previousImages are those of the previous release, in the registry.
const previousImages = "/krmfn-previous"

// ApplyPrevious installs the chart and the images of the release before this one, with values that it knows, and returns when its
// function runners run, and no others.
func (i *Installation) ApplyPrevious(ctx context.Context, r previous.Release, values map[string]any) error {
	return i.step("apply the chart of the previous release: "+r.Commit[:12], func() error {
		former := i.helm
		former.chart = r.Chart
		own := i.values()
		// What fits this cluster, as far as any release knows it.
		base := map[string]any{
			"image":    map[string]any{"registry": i.Registry + previousImages, "tag": r.Tag},
			"replicas": own["replicas"], "functionNamespace": map[string]any{"name": i.Release.FunctionNamespace}, "resources": own["resources"], "extraArgs": own["extraArgs"], "logLevel": own["logLevel"],
		}
		if err := former.apply(ctx, MergeValues(base, values)); err != nil {
			return err
		}
		return i.AwaitSettled(ctx)
	})
}
