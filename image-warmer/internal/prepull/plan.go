// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package prepull has nodes pull images before function pods need them. What is to be pulled where is planned first, from
// what the nodes say of themselves; then short-lived pods are made, one for each image and node.
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

// Pull is an image for a node.
type Pull struct {
	Node string
	// Image is the reference by digest, and References what it is known by.
	Image      string
	References []string
}

// Outcome is what has become of a pull.
type Outcome struct {
	Pull
	// Result is report.Pulled, Present, Skipped or Failed, and Err why it was skipped or has failed.
	Result string
	Err    error
	// Took is how long it took; 0 where it was not made.
	Took time.Duration
}

// Plan is what is to be done. Pulls are in the order in which they are best made: one image on all nodes before the next.
type Plan struct {
	Pulls []Pull
	// Skips are the pulls that are not made: the node has the image, or must not get it.
	Skips []Outcome
}

// NewPlan plans which nodes are to pull which images.
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

// content is an image that several references may name.
type content struct {
	pinned     string
	references []string
	platforms  []string
}

// byContent puts the references of the same image together: it is pulled once.
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

// normal is a reference as nodes have it: with the registry that short names leave out.
func normal(pinned string) string {
	named, err := reference.ParseNormalizedNamed(pinned)
	if err != nil {
		return pinned
	}
	return named.String()
}
