// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	kubetesting "k8s.io/client-go/testing"

	"github.com/krmfn/krmfn/image-warmer/internal/prepull"
	"github.com/krmfn/krmfn/image-warmer/options"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

// step is a status of a pod, and its delay after the previous status.
type step struct {
	after  time.Duration
	status corev1.PodStatus
}

func succeeded() corev1.PodStatus { return corev1.PodStatus{Phase: corev1.PodSucceeded} }

func waiting(reason, message string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "pull", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}}
}

func unschedulable(message string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
	}}}
}

// cluster is a fake API server with a scheduler and kubelets, for a synctest bubble.
type cluster struct {
	*fake.Clientset
	// refuse returns the error of a create request.
	refuse func(*corev1.Pod) error
	// play returns the steps of a pod. By default, the pull takes a second.
	play func(*corev1.Pod) []step

	mu   sync.Mutex
	made []*corev1.Pod
	// running holds the existing pods by name. most and mostOnNode are the maximum numbers of concurrent pods, in total and on one node.
	running          map[string]*corev1.Pod
	most, mostOnNode int
	kubelets         sync.WaitGroup
}

func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	c := &cluster{Clientset: fake.NewClientset(objects...), running: map[string]*corev1.Pod{}}
	c.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.36.0"}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); c.kubelets.Wait() })
	c.PrependReactor("create", "pods", func(action kubetesting.Action) (bool, runtime.Object, error) {
		pod := action.(kubetesting.CreateAction).GetObject().(*corev1.Pod)
		if c.refuse != nil {
			if err := c.refuse(pod); err != nil {
				return true, nil, err
			}
		}
		pod.UID, pod.CreationTimestamp = types.UID("uid-of-"+pod.Name), metav1.Now()
		mine, kubelets := pod.DeepCopy(), pod.DeepCopy()
		c.add(mine)
		c.kubelets.Go(func() { c.run(ctx, kubelets) })
		return false, nil, nil
	})
	c.PrependReactor("delete", "pods", func(action kubetesting.Action) (bool, runtime.Object, error) {
		deletion := action.(kubetesting.DeleteActionImpl)
		if p := deletion.DeleteOptions.Preconditions; p == nil || *p.UID != types.UID("uid-of-"+deletion.Name) {
			t.Errorf("%s was deleted with preconditions %v, want its UID", deletion.Name, p)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, deletion.Name)
		return false, nil, nil
	})
	return c
}

func nodeOf(pod *corev1.Pod) string {
	return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
}

func (c *cluster) add(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, pod)
	c.running[pod.Name] = pod
	onNode := 0
	for _, other := range c.running {
		if nodeOf(other) == nodeOf(pod) {
			onNode++
		}
	}
	c.most, c.mostOnNode = max(c.most, len(c.running)), max(c.mostOnNode, onNode)
}

// run sets the statuses of a pod until the steps end or the pod is deleted.
func (c *cluster) run(ctx context.Context, pod *corev1.Pod) {
	steps := []step{{time.Second, succeeded()}}
	if c.play != nil {
		steps = c.play(pod)
	}
	for _, s := range steps {
		select {
		case <-time.After(s.after):
		case <-ctx.Done():
			return
		}
		pod.Status = s.status
		pod.Spec.NodeName = nodeOf(pod)
		if _, err := c.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
			return
		}
	}
}

// left returns the names of the existing pods.
func (c *cluster) left() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.running))
}

// fakePods are the pods of client-go's fake API server, which does not support watch lists.
type fakePods struct{ typedcorev1.PodInterface }

func (fakePods) IsWatchListSemanticsUnSupported() bool { return true }

func (c *cluster) puller(change func(*prepull.Config)) *prepull.Puller {
	config := prepull.Config{
		Pulls:  options.Pulls{Injection: injection.Auto, WrapperImage: "wrapper:v1", Timeout: 10 * time.Minute, MaxParallel: 4, MaxPerNode: 1},
		Client: fakePods{c.CoreV1().Pods("fns")}, Cluster: discovery.ToServerVersionInterfaceWithContext(c.Discovery()),
		Namespace: "fns", Run: "r1", Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&config)
	}
	return prepull.New(context.Background(), config)
}
