// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/krmfn/krmfn/image-warmer/internal/prepull"
	"github.com/krmfn/krmfn/internal/cluster/client"
)

// syncTimeout is the timeout for the first list of nodes.
const syncTimeout = time.Minute

var errNoNodes = errors.New("nodes cannot be watched: check the permissions (list and watch nodes), and that the API server answers")

// follow adds nodes to the queue when they join or become able to pull. It ignores existing nodes, because the run for all nodes includes
// them. Call end to stop the watch.
func (l *loop) follow(ctx context.Context) (end func(), err error) {
	informer := client.NewInformer(l.Nodes, &corev1.Node{}, l.Selector)
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if node, ok := object.(*corev1.Node); ok && !initial && l.fit(node) {
				l.join(ctx, node)
			}
		},
		UpdateFunc: func(before, after any) {
			was, known := before.(*corev1.Node)
			node, ok := after.(*corev1.Node)
			if ok && known && l.fit(node) && (!l.fit(was) || was.UID != node.UID) {
				l.join(ctx, node)
			}
		},
	})
	if err = errors.Join(err, informer.SetTransform(slim)); err != nil {
		return nil, fmt.Errorf("watch nodes: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	end = func() {
		cancel()
		running.Wait()
	}
	running.Go(func() { informer.RunWithContext(ctx) })
	limited, over := context.WithTimeoutCause(ctx, syncTimeout, errNoNodes)
	defer over()
	if !cache.WaitForCacheSync(limited.Done(), informer.HasSynced) && context.Cause(limited) == errNoNodes { //nolint:errorlint // the cause is never wrapped
		end()
		return nil, errNoNodes
	}
	return end, nil
}

func (l *loop) fit(node *corev1.Node) bool { return prepull.Unfit(node, l.Tolerations) == nil }

func (l *loop) join(ctx context.Context, node *corev1.Node) {
	l.Log.InfoContext(ctx, "node can pull images", "node", node.Name)
	l.queue.Add(node.Name)
}

// slim drops the fields of a node that fit does not need, because the images and addresses of all nodes take much memory.
func slim(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, DeletionTimestamp: node.DeletionTimestamp},
		Spec:       corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable, Taints: node.Spec.Taints},
		Status:     corev1.NodeStatus{Conditions: node.Status.Conditions},
	}, nil
}
