// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubetesting "k8s.io/client-go/testing"

	"github.com/krmfn/krmfn/image-warmer/internal/prepull"
	"github.com/krmfn/krmfn/image-warmer/internal/publish"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pulls returns the pulls of n images on each node.
func pulls(n int, nodes ...string) []prepull.Pull {
	var all []prepull.Pull
	for i := range n {
		for _, node := range nodes {
			all = append(all, prepull.Pull{Node: node, Image: fmt.Sprintf("r.io/fn%d@%s", i, digest("1")), References: []string{fmt.Sprintf("r.io/fn%d:v1", i)}})
		}
	}
	return all
}

// Each behaviour of a pod leads to an outcome at a certain time.
func TestRun(t *testing.T) {
	t.Parallel()
	play := func(steps ...step) func(*corev1.Pod) []step { return func(*corev1.Pod) []step { return steps } }
	for _, tc := range []struct {
		name string
		play func(*corev1.Pod) []step
		// want is the error, or "" for success.
		want string
		took time.Duration
	}{
		{"it goes well", play(step{3 * time.Second, waiting("ContainerCreating", "")}, step{time.Second, succeeded()}), "", 4 * time.Second},
		{
			"the pull fails", play(step{time.Second, waiting("ErrImagePull", "no such host")}, step{time.Second, waiting("ImagePullBackOff", "Back-off")},
				step{10 * time.Second, waiting("ErrImagePull", "no such host")}), "ErrImagePull: no such host", 12 * time.Second,
		},
		{
			"the second pull goes well", play(step{time.Second, waiting("ErrImagePull", "reset")}, step{time.Second, waiting("ImagePullBackOff", "Back-off")},
				step{10 * time.Second, succeeded()}), "", 12 * time.Second,
		},
		{"it hangs", play(step{time.Second, waiting("ContainerCreating", "")}), "not pulled within 10m0s, the pod waits for the kubelet: raise --pull-timeout", 10 * time.Minute},
		{
			"it fails once and hangs", play(step{time.Second, waiting("ErrImagePull", "slow")}, step{time.Second, waiting("ImagePullBackOff", "Back-off")}),
			"not pulled within 10m0s: ErrImagePull: slow", 10 * time.Minute,
		},
		{"nothing is ever said", play(), "not pulled within 10m0s", 10 * time.Minute},
		{"no place", play(step{time.Second, unschedulable("Insufficient cpu")}), "Unschedulable: Insufficient cpu", 31 * time.Second},
		{
			"a place at last", play(step{time.Second, unschedulable("Too many pods")}, step{20 * time.Second, corev1.PodStatus{Phase: corev1.PodPending}},
				step{40 * time.Second, succeeded()}), "", 61 * time.Second,
		},
		{"no name", play(step{time.Second, waiting("InvalidImageName", "")}), "InvalidImageName", time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				c.play = tc.play
				outcomes, err := c.puller(nil).PullAll(t.Context(), pulls(1, "n1"))
				if err != nil || len(outcomes) != 1 {
					t.Fatal(outcomes, err)
				}
				o := outcomes[0]
				if o.Err == nil && tc.want != "" || o.Err != nil && (tc.want == "" || !strings.HasPrefix(o.Err.Error(), tc.want)) {
					t.Errorf("error = %v, want %q", o.Err, tc.want)
				}
				if o.Took != tc.took {
					t.Errorf("took %v, want %v", o.Took, tc.took)
				}
				if left := c.left(); len(left) > 0 {
					t.Errorf("leftover pods = %v, want none", left)
				}
			})
		})
	}
}

// Failing and hanging pulls do not stop others. The limits of concurrent pulls hold.
func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.play = func(pod *corev1.Pod) []step {
			if nodeOf(pod) == "n1" {
				return nil
			}
			return []step{{time.Second, succeeded()}}
		}
		start := time.Now()
		outcomes, err := c.puller(func(p *prepull.Config) {
			p.MaxParallel, p.MaxPerNode, p.Timeout = 3, 2, time.Minute
		}).PullAll(t.Context(), pulls(4, "n1", "n2", "n3"))
		if err != nil || len(outcomes) != 12 || c.most != 3 || c.mostOnNode != 2 {
			t.Errorf("outcomes = %d, concurrent pulls = %d, on one node = %d, error = %v", len(outcomes), c.most, c.mostOnNode, err)
		}
		for _, o := range outcomes {
			if (o.Err == nil) != (o.Node != "n1") {
				t.Errorf("%s on %s: %v", o.Image, o.Node, o.Err)
			}
		}
		// Pulls on n1 take a minute each, two at once.
		if took := time.Since(start); took > 2*time.Minute+5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// When the context ends, running pulls fail, their pods are deleted, and no further pods are created.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.play = func(*corev1.Pod) []step { return nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		outcomes, err := c.puller(nil).PullAll(ctx, pulls(3, "n1", "n2"))
		if err != nil || len(outcomes) != 6 || len(c.made) != 2 || len(c.left()) > 0 || time.Since(start) != time.Minute {
			t.Errorf("outcomes = %d, created pods = %d, leftover pods = %v, duration = %v, error = %v", len(outcomes), len(c.made), c.left(), time.Since(start), err)
		}
		for _, o := range outcomes {
			if o.Err == nil || !strings.Contains(o.Err.Error(), "shutting down") {
				t.Error(o.Err)
			}
		}
	})
}

// With injection.Auto, pods use init containers if the kubelet or the API server does not support image volumes.
func TestFallback(t *testing.T) {
	t.Parallel()
	byVolume := func(pod *corev1.Pod) bool { return pod.Spec.Volumes[0].Image != nil }
	kubelet := func(c *cluster) {
		c.play = func(pod *corev1.Pod) []step {
			if byVolume(pod) {
				return []step{{time.Second, waiting("CreateContainerError", "failed to mount image volume")}}
			}
			return []step{{time.Second, succeeded()}}
		}
	}
	server := func(at *field.Path) func(*cluster) {
		return func(c *cluster) {
			c.refuse = func(pod *corev1.Pod) error {
				if byVolume(pod) {
					return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, pod.Name, field.ErrorList{field.Required(at, "must specify a volume type")})
				}
				return nil
			}
		}
	}
	for _, tc := range []struct {
		name     string
		refuse   func(*cluster)
		fallback bool
		pods     int
		fails    bool
	}{
		{"kubelet", kubelet, true, 3, false},
		{"API server", server(field.NewPath("spec", "volumes").Index(0)), true, 2, false},
		{"another reason", server(field.NewPath("spec", "tolerations").Index(0)), true, 0, true},
		{"not allowed", kubelet, false, 2, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				tc.refuse(c)
				outcomes, err := c.puller(func(p *prepull.Config) {
					if !tc.fallback {
						p.Injection = injection.ImageVolume
					}
				}).PullAll(t.Context(), pulls(2, "n1"))
				if err != nil || len(c.made) != tc.pods {
					t.Errorf("created pods = %d, error = %v", len(c.made), err)
				}
				for _, o := range outcomes {
					if (o.Err != nil) != tc.fails {
						t.Errorf("%s: %v", o.Image, o.Err)
					}
				}
			})
		})
	}
}

// A pod is deleted even if the response to its create request was lost.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.play = func(*corev1.Pod) []step { return nil }
		c.refuse = func(pod *corev1.Pod) error {
			pod.UID = "uid-of-image-warmer-r1-1"
			if err := c.Tracker().Add(pod); err != nil {
				t.Error(err)
			}
			c.add(pod)
			return errors.New("connection reset")
		}
		outcomes, err := c.puller(nil).PullAll(t.Context(), pulls(1, "n1"))
		if err != nil || len(outcomes) != 1 || !strings.Contains(outcomes[0].Err.Error(), "create a pod in namespace fns: connection reset") {
			t.Errorf("PullAll() = %v, %v, want one failure", outcomes, err)
		}
		if left := c.left(); len(left) > 0 {
			t.Errorf("leftover pods = %v, want none", left)
		}
	})
}

// A pull fails if someone else deletes the pod.
func TestDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.play = func(pod *corev1.Pod) []step {
			time.Sleep(time.Second)
			err := c.CoreV1().Pods(pod.Namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
			if err != nil {
				t.Error(err)
			}
			return nil
		}
		outcomes, err := c.puller(nil).PullAll(t.Context(), pulls(1, "n1"))
		if err != nil || outcomes[0].Err == nil || outcomes[0].Took != time.Second || !strings.HasPrefix(outcomes[0].Err.Error(), "Deleted") {
			t.Errorf("PullAll() = %+v, %v, want one failure", outcomes, err)
		}
	})
}

func TestCannotWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.PrependReactor("list", "pods", func(kubetesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
		})
		if _, err := c.puller(nil).PullAll(t.Context(), pulls(1, "n1")); err == nil || !strings.Contains(err.Error(), "cannot be watched") || len(c.made) > 0 {
			t.Errorf("error = %v, created pods = %d", err, len(c.made))
		}
	})
}

func TestRemoveLeftovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pod := func(name, run, manager string, age time.Duration) *corev1.Pod {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "fns", UID: types.UID("uid-of-" + name), CreationTimestamp: metav1.NewTime(time.Now().Add(-age)),
				Labels: map[string]string{functionpod.WarmerLabel: run, publish.ManagedByLabel: manager},
			}}
		}
		c := newCluster(t,
			pod("old", "r0", publish.Manager, time.Hour), pod("young", "r0", publish.Manager, time.Minute),
			pod("ours", "r1", publish.Manager, time.Hour), pod("theirs", "r0", "Helm", time.Hour))
		n, err := c.puller(nil).RemoveLeftovers(t.Context())
		if n != 1 || err != nil {
			t.Errorf("RemoveLeftovers() = %d, %v", n, err)
		}
		left, err := c.CoreV1().Pods("fns").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(left.Items) != 3 {
			t.Errorf("pods = %d, error = %v", len(left.Items), err)
		}
		if _, err := c.CoreV1().Pods("fns").Get(t.Context(), "old", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("old pod: error = %v, want NotFound", err)
		}
	})
}
