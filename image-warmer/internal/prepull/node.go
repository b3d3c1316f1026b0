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
	// listTimeout is the timeout for listing all nodes. pageSize is the number of nodes in a page, because nodes with their images are
	// large.
	listTimeout = time.Minute
	pageSize    = 100
)

// Nodes returns the nodes that match a label selector. An empty selector matches all nodes.
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
	// platform is the platform of the node, such as "linux/amd64". Empty means unknown.
	platform string
	// unfit is the reason why the node cannot pull, or nil.
	unfit error
	// has holds the images of the node by digest. The node may have more images, because a kubelet reports only fifty.
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

// runs reports whether the node can run one of the platforms. It ignores variants, as in linux/arm64/v8. Unknown platforms match.
func (c *candidate) runs(platforms []string) bool {
	return c.platform == "" || len(platforms) == 0 || slices.ContainsFunc(platforms, func(platform string) bool {
		return platform == c.platform || strings.HasPrefix(platform, c.platform+"/")
	})
}

// Unfit returns the reason why a node cannot pull, or nil. It checks conditions before taints, because conditions are more specific.
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
			return fmt.Errorf("the node has the taint %s: add a --toleration to use it", taint.ToString())
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
