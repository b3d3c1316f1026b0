// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/cluster/podstatus"
	"github.com/krmfn/krmfn/services/server/logging"
)

// watch follows the function pods and looks after them until ctx ends.
func (m *Manager) watch(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(m.config.Client, 0, informers.WithNamespace(m.config.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = functionpod.ImageLabel }),
		informers.WithTransform(slim))
	pods := factory.Core().V1().Pods().Informer()
	handled, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { m.observed(o, m.observe) },
		UpdateFunc: func(_, o any) { m.observed(o, m.observe) },
		DeleteFunc: func(o any) { m.observed(o, m.gone) },
	})
	if err != nil {
		return fmt.Errorf("watch the function pods in namespace %s: %w", m.config.Namespace, err)
	}
	if err := pods.SetWatchErrorHandlerWithContext(m.watchFailed()); err != nil {
		return fmt.Errorf("watch the function pods in namespace %s: %w", m.config.Namespace, err)
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
		return nil
	}
	close(m.synced)
	m.config.Log.Info("function pods adopted", "namespace", m.config.Namespace, "pods", len(pods.GetStore().ListKeys()))
	_ = wait.PollUntilContextCancel(ctx, m.config.ScanInterval, false, func(ctx context.Context) (bool, error) { // it ends with ctx
		m.scan(ctx)
		return false, nil
	})
	return nil
}

// watchFailed returns a handler that logs each new kind of problem with the watch once.
func (m *Manager) watchFailed() cache.WatchErrorHandlerWithContext {
	var logged logging.Once
	return func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() == nil && !errors.Is(err, context.Canceled) && logged.New(err) {
			m.config.Log.Warn("the function pods cannot be watched, what is known of them is kept", "namespace", m.config.Namespace, "err", err)
		}
	}
}

func (m *Manager) observed(object any, with func(*corev1.Pod)) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if pod, ok := object.(*corev1.Pod); ok {
		with(pod)
	}
}

// observe handles the news of a pod that exists.
func (m *Manager) observe(pod *corev1.Pod) {
	id, slot, ours := identity(pod)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !ours {
		m.observeForeign(pod)
		return
	}
	p := m.ensurePool(id)
	mem, isNew := p.updateMember(slot, pod)
	if mem == nil {
		return
	}
	if isNew {
		p.pool.Starting(slot)
		m.config.Images.Seed(id.Image, id.Digest)
	}
	if pod.DeletionTimestamp != nil {
		p.leave(mem)
		return
	}
	state, problem := podstatus.Of(pod)
	switch {
	case mem.leaving:
	case state == podstatus.Failed, state == podstatus.Restarting && !mem.served:
		m.spawn(func() { m.fail(m.life, p, mem, problem.Reason, notStarted(pod, problem)) })
	case state == podstatus.Unschedulable:
		p.pool.Problem(slot, p.unplaced(pod, problem))
	default:
		if !mem.ready {
			p.pool.Problem(slot, nil)
		}
		if pod.Status.PodIP != "" {
			p.connect(mem)
		}
	}
}

// unplaced adds the platforms of the image to why a pod has found no node.
func (p *Pool) unplaced(pod *corev1.Pod, problem *podstatus.Problem) error {
	err := notStarted(pod, problem)
	if len(p.platforms) == 0 || !strings.Contains(problem.Message, "affinity") {
		return err
	}
	return fmt.Errorf("%w: image %s is built for %s, which a node must be", err, p.id.Image, strings.Join(p.platforms, ", "))
}

// gone handles the news that a pod does not exist any more.
func (m *Manager) gone(pod *corev1.Pod) {
	id, slot, ours := identity(pod)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !ours {
		delete(m.foreign, pod.Name)
		return
	}
	p := m.pools[id.Hash()]
	if p == nil {
		return
	}
	if mem := p.members[slot]; mem != nil && mem.pod.UID == pod.UID {
		p.forget(mem)
	}
}

// slim keeps what is used of a pod, about a tenth of it: pods are most of the memory of an idle pool.
func slim(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
			Labels: only(pod.Labels, functionpod.ImageLabel, functionpod.PoolLabel, functionpod.SlotLabel),
			Annotations: only(pod.Annotations, functionpod.TemplateAnnotation, functionpod.ReferenceAnnotation,
				functionpod.LastUseAnnotation, functionpod.TTLAnnotation),
		},
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, InitContainers: named(pod.Spec.InitContainers), Containers: named(pod.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message, PodIP: pod.Status.PodIP,
			InitContainerStatuses: states(pod.Status.InitContainerStatuses), ContainerStatuses: states(pod.Status.ContainerStatuses),
		},
	}
	for _, v := range pod.Spec.Volumes {
		if v.Image != nil {
			kept.Spec.Volumes = append(kept.Spec.Volumes, v)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			kept.Status.Conditions = append(kept.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
	}
	return kept, nil
}

func only(from map[string]string, keys ...string) map[string]string {
	kept := make(map[string]string, len(keys))
	for _, key := range keys {
		if value, ok := from[key]; ok {
			kept[key] = value
		}
	}
	return kept
}

// named keeps the names and images of containers.
func named(containers []corev1.Container) []corev1.Container {
	kept := make([]corev1.Container, len(containers))
	for i, c := range containers {
		kept[i] = corev1.Container{Name: c.Name, Image: c.Image}
	}
	return kept
}

// states keeps the states of containers.
func states(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	kept := make([]corev1.ContainerStatus, len(statuses))
	for i, s := range statuses {
		kept[i] = corev1.ContainerStatus{Name: s.Name, State: s.State, LastTerminationState: s.LastTerminationState}
	}
	return kept
}
