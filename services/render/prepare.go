// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"time"

	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
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
func prepare(ctx context.Context, root *node, names *images, options Options) {
	preparer, ok := options.Evaluator.(Preparer)
	if !ok {
		return
	}
	all := root.images(names)
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxPrepare)
	defer cancel()
	_, _ = preparer.Prepare(ctx, all)
}

func (n *node) images(names *images) []string {
	var all []string
	seen := map[string]bool{}
	for f := range n.imageFunctions() {
		ref, err := names.of(f)
		if err == nil && !seen[ref] {
			seen[ref] = true
			all = append(all, ref)
		}
	}
	return all
}
