// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

// If the API server does not support image volumes, the next pod has none. The waiting callers get a retriable error.
func TestImageVolumeRefused(t *testing.T) {
	t.Parallel()
	withVolumes := func(c *simulation.Cluster) func(*Config) {
		return func(config *Config) { config.Templates = newTemplates(c, injection.ImageVolume) }
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "fn",
		field.ErrorList{field.Required(field.NewPath("spec", "volumes").Index(1), "must specify a volume type")})
	for name, refuse := range map[string]func(*simulation.Cluster){
		"by the API server": func(c *simulation.Cluster) { c.Before(first(1, "create", "pods", invalid)) },
		"by the node":       (*simulation.Cluster).RefuseImageVolumes,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				refuse(c)
				r := start(t, c, withVolumes(c))
				_, err := r.call(digest("a"))
				if !errors.As(err, new(*ReplacedError)) {
					t.Fatalf("call error = %v, want a ReplacedError", err)
				}
				pod := r.mustCall(digest("a"))
				synctest.Wait()
				wantPods(t, c, pod)
				if podtemplate.HasImageVolume(c.Pods()[0]) {
					t.Error("the next pod still has an image volume")
				}
			})
		})
	}
}

// A pod that is invalid for another reason fails the call and does not change the template.
func TestInvalidForAnotherReason(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "fn", nil)
		invalid.ErrStatus.Message = "spec.containers[0].resources: must be less than or equal to cpu limit"
		c.Before(always("create", "pods", invalid))
		r := start(t, c, func(config *Config) { config.Templates = newTemplates(c, injection.ImageVolume) })
		_, err := r.call(digest("a"))
		if err == nil || errors.As(err, new(*ReplacedError)) || !podtemplate.HasImageVolume(&r.config.Templates.Current().Pod) {
			t.Errorf("call error = %v, want an error that is no ReplacedError, and an unchanged template", err)
		}
	})
}

// A kubelet that does not have the pull secret yet pulls without it. The next pod is created at once, and the waiting callers get a
// retriable error.
func TestNodeWithoutItsPullSecret(t *testing.T) {
	t.Parallel()
	const refusal = `failed to pull image "r.io/fn": failed to authorize: unexpected status: 401 Unauthorized`
	withSecret := func(p *corev1.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "auth-secret"}} }
	refuse := func(c *simulation.Cluster, n int, reason, message string) {
		c.Kubelet(func(name string) {
			if n--; n >= 0 {
				c.Waits(name, reason, message)
				return
			}
			c.Run(name)
		})
	}
	bubbles := func(name string, test func(t *testing.T, c *simulation.Cluster, r *replica)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) { test(t, c, start(t, c)) })
		})
	}
	replaced := func(err error) bool { return errors.As(err, new(*ReplacedError)) }
	for _, reason := range []string{"ErrImagePull", "ImagePullBackOff"} {
		bubbles(reason, func(t *testing.T, c *simulation.Cluster, r *replica) {
			c.Admit(withSecret)
			refuse(c, 1, reason, refusal)
			if _, err := r.call(digest("a")); !replaced(err) {
				t.Fatalf("call error = %v, want a ReplacedError", err)
			}
			pod := r.mustCall(digest("a"))
			synctest.Wait()
			wantPods(t, c, pod)
		})
	}
	bubbles("two pods at once", func(t *testing.T, c *simulation.Cluster, r *replica) {
		r.limit(func(l *Limits) { l.MaxPods = 2 })
		c.Admit(withSecret)
		c.Kubelet(func(string) {})
		calls := []<-chan answer{r.begin(fn, digest("a")), r.begin(fn, digest("a"))}
		early := names(c)
		if len(early) != 2 {
			t.Fatalf("pods = %d, want 2", len(early))
		}
		c.Kubelet(c.Run)
		time.Sleep(time.Second)
		for _, pod := range early {
			c.Waits(pod, "ErrImagePull", refusal)
		}
		for _, call := range calls {
			if got := <-call; got.err != nil && !replaced(got.err) {
				t.Errorf("call error = %v, want none or a ReplacedError", got.err)
			}
		}
		r.mustCall(digest("a"))
	})
	bubbles("several nodes", func(t *testing.T, c *simulation.Cluster, r *replica) {
		c.Admit(withSecret)
		attempt := 0
		c.Kubelet(func(name string) {
			attempt++
			if attempt > 3 {
				c.Run(name)
				return
			}
			c.Change(name, func(p *corev1.Pod) {
				p.Spec.NodeName = fmt.Sprintf("node-%d", attempt)
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "function", State: corev1.ContainerState{
					Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: refusal},
				}}}
			})
		})
		for range 3 {
			if _, err := r.call(digest("a")); !replaced(err) {
				t.Errorf("call error = %v, want a ReplacedError", err)
			}
		}
		r.mustCall(digest("a"))
	})
	bubbles("its credentials are wrong", func(t *testing.T, c *simulation.Cluster, r *replica) {
		c.Admit(withSecret)
		refuse(c, 1<<30, "ErrImagePull", refusal)
		if _, err := r.call(digest("a")); !replaced(err) {
			t.Fatalf("call error = %v, want a ReplacedError", err)
		}
		for range 3 {
			if _, err := r.call(digest("a")); err == nil || replaced(err) {
				t.Errorf("call error = %v, want the node's error", err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(refusalPause)
		if _, err := r.call(digest("a")); !replaced(err) {
			t.Errorf("call error after refusalPause = %v, want a ReplacedError", err)
		}
	})
	bubbles("there is no pull secret", func(t *testing.T, c *simulation.Cluster, r *replica) {
		refuse(c, 1, "ErrImagePull", refusal)
		if _, err := r.call(digest("a")); err == nil || replaced(err) {
			t.Errorf("call error = %v, want the node's error", err)
		}
	})
	bubbles("another problem", func(t *testing.T, c *simulation.Cluster, r *replica) {
		c.Admit(withSecret)
		refuse(c, 1, "ErrImagePull", "manifest unknown")
		if _, err := r.call(digest("a")); err == nil || replaced(err) {
			t.Errorf("call error = %v, want the node's error", err)
		}
	})
}
