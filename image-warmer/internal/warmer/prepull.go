// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package warmer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/image-warmer/internal/prepull"
	"github.com/krmfn/krmfn/image-warmer/internal/report"
)

func (r *run) prepull(ctx context.Context) {
	o := &r.Options.Prepull
	nodes, err := prepull.Nodes(ctx, r.Cluster.Nodes, o.NodeSelector)
	if err != nil {
		r.report.Fail("", "", err)
		return
	}
	if r.Nodes != nil {
		nodes = slices.DeleteFunc(nodes, func(node corev1.Node) bool { return !slices.Contains(r.Nodes, node.Name) })
	} else if len(nodes) == 0 {
		r.report.Notes = append(r.report.Notes, fmt.Sprintf("no node has the labels of --node-selector %q, so nothing is pulled", o.NodeSelector))
	}
	plan := prepull.NewPlan(nodes, r.resolved, o.Tolerations)
	for _, skip := range plan.Skips {
		r.onNode(skip)
	}
	if r.Options.DryRun {
		for _, pull := range plan.Pulls {
			r.onNode(prepull.Outcome{Pull: pull, Result: report.Pulled})
		}
	} else {
		r.pull(ctx, plan.Pulls)
	}
	for i := range r.report.Images {
		slices.SortFunc(r.report.Images[i].Nodes, func(a, b report.Node) int { return strings.Compare(a.Node, b.Node) })
	}
}

func (r *run) pull(ctx context.Context, pulls []prepull.Pull) {
	config := prepull.Config{
		Pulls: r.Options.Prepull.Pulls, Client: r.Cluster.Pods, Cluster: r.Cluster.Version, Namespace: r.Options.Namespace, Run: r.Run, Log: r.Log,
	}
	if o := &r.Options.Registry; o.Private && !slices.Contains(config.PullSecrets, o.AuthSecret) {
		config.PullSecrets = append(slices.Clone(config.PullSecrets), o.AuthSecret)
	}
	puller := prepull.New(ctx, config)
	removed, err := puller.RemoveLeftovers(ctx)
	if err != nil {
		r.Log.WarnContext(ctx, "pods of earlier runs may be left", "err", err)
	}
	if removed > 0 {
		r.Log.InfoContext(ctx, "pods of earlier runs were deleted", "pods", removed)
	}
	outcomes, err := puller.PullAll(ctx, pulls)
	if err != nil {
		r.report.Fail("", "", err)
		return
	}
	for _, outcome := range outcomes {
		r.onNode(outcome)
	}
}

// onNode adds the outcome on a node to the report of each reference of the image.
func (r *run) onNode(o prepull.Outcome) {
	node := report.Node{Node: o.Node, Result: o.Result, Seconds: o.Took.Seconds()}
	if o.Err != nil {
		node.Reason = o.Err.Error()
	}
	for i := range r.report.Images {
		image := &r.report.Images[i]
		if !slices.Contains(o.References, image.Image) {
			continue
		}
		if o.Result == report.Failed {
			r.report.Fail(image.Image, o.Node, o.Err)
		}
		longest := 0.0
		for _, n := range image.Nodes {
			longest = max(longest, n.Seconds)
		}
		image.Seconds += max(0, node.Seconds-longest)
		image.Nodes = append(image.Nodes, node)
	}
}
