// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package warmer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/image-warmer/internal/prepull"
	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/services/cluster/injection"
)

// prepull has nodes pull what was resolved.
func (r *run) prepull(ctx context.Context) {
	o := &r.Options.Prepull
	nodes, err := prepull.Nodes(ctx, r.Kubernetes, o.NodeSelector)
	if err != nil {
		r.report.Fail("", "", err)
		return
	}
	if len(nodes) == 0 {
		r.report.Notes = append(r.report.Notes, fmt.Sprintf("no node has the labels of --node-selector %q: nothing is pulled", o.NodeSelector))
	}
	plan := prepull.NewPlan(nodes, r.resolved, o.Tolerations)
	for _, skip := range plan.Skips {
		result := report.Node{Node: skip.Node, Result: report.Skipped, Reason: skip.Reason}
		if skip.Present {
			result.Result = report.Present
		}
		r.onNode(skip.References, result)
	}
	if r.Options.DryRun {
		for _, pull := range plan.Pulls {
			r.onNode(pull.References, report.Node{Node: pull.Node, Result: report.Pulled})
		}
	} else {
		r.pull(ctx, plan.Pulls)
	}
	for i := range r.report.Images {
		slices.SortFunc(r.report.Images[i].Nodes, func(a, b report.Node) int { return strings.Compare(a.Node, b.Node) })
	}
}

func (r *run) pull(ctx context.Context, pulls []prepull.Pull) {
	puller := r.puller(ctx)
	removed, err := puller.RemoveLeftovers(ctx)
	if err != nil {
		r.Log.WarnContext(ctx, "pods of earlier runs may be left", "err", err)
	}
	if removed > 0 {
		r.Log.InfoContext(ctx, "pods of earlier runs were deleted", "pods", removed)
	}
	outcomes, err := puller.Run(ctx, pulls)
	if err != nil {
		r.report.Fail("", "", err)
		return
	}
	for _, outcome := range outcomes {
		result := report.Node{Node: outcome.Node, Result: report.Pulled, Seconds: outcome.Took.Seconds()}
		if outcome.Err != nil {
			result.Result, result.Reason = report.Failed, outcome.Err.Error()
			for _, reference := range outcome.References {
				r.report.Fail(reference, outcome.Node, outcome.Err)
			}
		}
		r.onNode(outcome.References, result)
	}
}

func (r *run) puller(ctx context.Context) *prepull.Puller {
	o := &r.Options.Prepull
	secrets := slices.Clone(o.PullSecrets)
	if r.Options.Registry.Private && !slices.Contains(secrets, r.Options.Registry.AuthSecret) {
		secrets = append(secrets, r.Options.Registry.AuthSecret)
	}
	config := prepull.Config{
		Client: r.Kubernetes, MaxParallel: o.MaxParallel, MaxPerNode: o.MaxPerNode, Log: r.Log,
		Template: prepull.Template{
			Namespace: r.Options.Namespace, Run: r.Run, WrapperImage: o.WrapperImage, Tolerations: o.Tolerations,
			PullSecrets: secrets, Timeout: o.Timeout,
		},
		Injection: o.Injection,
	}
	if o.Injection == injection.Auto {
		var err error
		if config.Injection, err = injection.Detect(r.Kubernetes.Discovery()); err != nil {
			r.Log.WarnContext(ctx, "what the cluster can do is not known, so that nodes pull by init containers", "err", err)
		}
		config.Fallback = true
	}
	return prepull.New(config)
}

// onNode reports what has become of an image, under all its names, on a node.
func (r *run) onNode(references []string, result report.Node) {
	for i := range r.report.Images {
		image := &r.report.Images[i]
		if slices.Contains(references, image.Image) {
			longest := 0.0
			for _, n := range image.Nodes {
				longest = max(longest, n.Seconds)
			}
			image.Seconds += max(0, result.Seconds-longest)
			image.Nodes = append(image.Nodes, result)
		}
	}
}
