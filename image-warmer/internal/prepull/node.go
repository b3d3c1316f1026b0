// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/krmfn/krmfn/internal/cluster/client"
)

const (
	// listTimeout is the most time for the list of nodes, and pageSize how many come at once: with their images, they are
	// large.
	listTimeout = time.Minute
	pageSize    = 100
)

// Nodes returns the nodes that a label selector chooses; an empty one chooses all.
func Nodes(ctx context.Context, all client.Watchable[*corev1.NodeList], selector string) ([]corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var nodes []corev1.Node
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := all.List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list nodes: %w", err)
		}
		nodes = append(nodes, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			return nodes, nil
		}
	}
}

type candidate struct {
	name string
	// platform is what it runs, as "linux/amd64"; empty where it does not say.
	platform string
	// unfit says why it does not pull; nil where it does.
	unfit error
	// has are images by digest. A kubelet tells of fifty only, so that others may be there, too.
	has map[string]bool
}

func newCandidate(node *corev1.Node, tolerations []corev1.Toleration) candidate {
	c := candidate{name: node.Name, unfit: Unfit(node, tolerations), has: map[string]bool{}}
	if info := node.Status.NodeInfo; info.OperatingSystem != "" && info.Architecture != "" {
		c.platform = info.OperatingSystem + "/" + info.Architecture
	}
	for _, image := range node.Status.Images {
		for _, name := range image.Names {
			if strings.Contains(name, "@") {
				c.has[normal(name)] = true
			}
		}
	}
	return c
}

// runs tells whether the node can run one of the platforms. The variant, as in linux/arm64/v8, is the node's matter; an image
// that does not say may be anything.
func (c *candidate) runs(platforms []string) bool {
	return c.platform == "" || len(platforms) == 0 || slices.ContainsFunc(platforms, func(platform string) bool {
		return platform == c.platform || strings.HasPrefix(platform, c.platform+"/")
	})
}

// Unfit returns why a node does not pull, or nil. The taints that go with a condition say less than the condition does.
func Unfit(node *corev1.Node, tolerations []corev1.Toleration) error {
	switch {
	case node.DeletionTimestamp != nil:
		return errors.New("the node is being deleted")
	case !hasCondition(node, corev1.NodeReady):
		return errors.New("the node is not ready")
	case node.Spec.Unschedulable:
		return errors.New("the node is cordoned")
	case hasCondition(node, corev1.NodeDiskPressure):
		return errors.New("the node is short of disk space (DiskPressure)")
	}
	for i := range node.Spec.Taints {
		if taint := &node.Spec.Taints[i]; !tolerated(taint, tolerations) {
			return fmt.Errorf("the node has the taint %s: give --toleration", taint.ToString())
		}
	}
	return nil
}

func hasCondition(node *corev1.Node, kind corev1.NodeConditionType) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

func tolerated(taint *corev1.Taint, tolerations []corev1.Toleration) bool {
	return taint.Effect != corev1.TaintEffectNoSchedule && taint.Effect != corev1.TaintEffectNoExecute ||
		slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
			return t.ToleratesTaint(klog.Background(), taint, false)
		})
}
