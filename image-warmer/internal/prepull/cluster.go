// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
)

// imageVolumes is the version of Kubernetes from which on image volumes are on by default.
var imageVolumes = version.MustParseGeneric("1.35")

const (
	// listTimeout is the most time for the list of nodes, and pageSize how many come at once: with their images, they are
	// large.
	listTimeout = time.Minute
	pageSize    = 100
)

// Nodes returns the nodes that a label selector chooses; an empty one chooses all.
func Nodes(ctx context.Context, client kubernetes.Interface, selector string) ([]corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var nodes []corev1.Node
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := client.CoreV1().Nodes().List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list nodes: %w", err)
		}
		nodes = append(nodes, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			return nodes, nil
		}
	}
}

// Detect returns what a cluster can do, as far as its version tells.
func Detect(client discovery.ServerVersionInterface) (Injection, error) {
	info, err := client.ServerVersion()
	if err != nil {
		return InitContainer, fmt.Errorf("ask for the version of Kubernetes: %w", err)
	}
	found, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return InitContainer, fmt.Errorf("version of Kubernetes: %w", err)
	}
	if found.LessThan(imageVolumes) {
		return InitContainer, nil
	}
	return ImageVolume, nil
}
