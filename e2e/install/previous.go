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

// Previous returns the previous release, and pushes its images into the registry. It builds the release from the git history unless this
// machine's cache has it.
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

// previousImages is the prefix of the previous release's images in the registry.
const previousImages = "/krmfn-previous"

// ApplyPrevious installs the chart and the images of the previous release with values that it supports. It returns when all function
// runners of that release are ready.
func (i *Installation) ApplyPrevious(ctx context.Context, r previous.Release, values map[string]any) error {
	return i.step("apply the chart of the previous release: "+r.Commit[:12], func() error {
		former := i.helm
		former.chart = r.Chart
		own := i.values()
		// These values fit this cluster and exist in every release.
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
