// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/image"
)

// Preparer gets the images of functions ready ahead of need, and tells for each what will evaluate it. It returns soon, with
// images that are still starting.
type Preparer interface {
	Prepare(ctx context.Context, images []string) ([]*evaluatorv1.PreparedFunction, error)
}

// maxPrepare bounds how long a render waits for the answer: functions can run without it.
const maxPrepare = 5 * time.Second

// prepare hands over the images of all pipelines, each once, in the order in which they will run. What is wrong with one
// is said when its function's turn comes.
func prepare(ctx context.Context, root *node, options Options) {
	preparer, ok := options.Evaluator.(Preparer)
	if !ok {
		return
	}
	images := root.images(options.ImagePrefix)
	if len(images) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxPrepare)
	defer cancel()
	_, _ = preparer.Prepare(ctx, images)
}

func (n *node) images(prefix string) []string {
	var images []string
	seen := map[string]bool{}
	for _, m := range n.order() {
		mutators, validators := m.functions()
		for _, functions := range [][]kptfilev1.Function{mutators, validators} {
			for i := range functions {
				f := &functions[i]
				if f.Image == "" {
					continue
				}
				ref, err := image.ForFunction(f.Image, f.Tag, prefix)
				if err == nil && !seen[ref] {
					seen[ref] = true
					images = append(images, ref)
				}
			}
		}
	}
	return images
}
