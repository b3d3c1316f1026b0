// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package prepull makes nodes pull images before function pods need them. It first plans the pulls from the status of nodes, and then
// creates a short-lived pod for each image and node.
package prepull

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/internal/images/registry"
)

// Pull is an image to pull on a node.
type Pull struct {
	Node string
	// Image is the reference by digest, and References are the references that resolve to it.
	Image      string
	References []string
}

// Outcome is the result of a pull.
type Outcome struct {
	Pull
	// Result is report.Pulled, Present, Skipped or Failed. Err is the reason for Skipped and Failed.
	Result string
	Err    error
	// Took is the duration of the pull, or 0 if nothing was pulled.
	Took time.Duration
}

// Plan contains the pulls of a run. Pulls are ordered by image, so that all nodes get one image before the next.
type Plan struct {
	Pulls []Pull
	// Skips are the outcomes of nodes that have the image or cannot pull it.
	Skips []Outcome
}

// NewPlan plans the pulls of images on nodes.
func NewPlan(nodes []corev1.Node, images []registry.Image, tolerations []corev1.Toleration) Plan {
	var plan Plan
	candidates := make([]candidate, 0, len(nodes))
	for i := range nodes {
		candidates = append(candidates, newCandidate(&nodes[i], tolerations))
	}
	slices.SortFunc(candidates, func(a, b candidate) int { return strings.Compare(a.name, b.name) })
	for _, group := range byContent(images) {
		for _, node := range candidates {
			pull := Pull{Node: node.name, Image: group.pinned, References: group.references}
			switch {
			case node.has[group.pinned]:
				plan.Skips = append(plan.Skips, Outcome{Pull: pull, Result: report.Present})
			case !node.runs(group.platforms):
				plan.Skips = append(plan.Skips, Outcome{Pull: pull, Result: report.Skipped, Err: errors.New("function pods of this image do not run on " + node.platform)})
			case node.unfit != nil:
				plan.Skips = append(plan.Skips, Outcome{Pull: pull, Result: report.Skipped, Err: node.unfit})
			default:
				plan.Pulls = append(plan.Pulls, pull)
			}
		}
	}
	return plan
}

// content is an image with all references that resolve to it.
type content struct {
	pinned     string
	references []string
	platforms  []string
}

// byContent groups references by image, because each image is pulled once.
func byContent(images []registry.Image) []content {
	var all []content
	for _, i := range images {
		pinned := normal(i.Pinned())
		at := slices.IndexFunc(all, func(c content) bool { return c.pinned == pinned })
		if at < 0 {
			all = append(all, content{pinned: pinned, platforms: i.Platforms})
			at = len(all) - 1
		}
		all[at].references = append(all[at].references, i.Reference)
	}
	slices.SortFunc(all, func(a, b content) int { return strings.Compare(a.pinned, b.pinned) })
	return all
}

// normal returns a reference in the form of a node's status, which includes the default registry.
func normal(pinned string) string {
	named, err := reference.ParseNormalizedNamed(pinned)
	if err != nil {
		return pinned
	}
	return named.String()
}
