// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

// react handles a request like an API server.
func (c *Cluster) react(action clienttesting.Action) (bool, runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Request{Verb: action.GetVerb(), Resource: action.GetResource().Resource}
	switch a := action.(type) {
	case clienttesting.CreateActionImpl:
		if o, ok := a.Object.(object); ok {
			r.Name = o.GetName()
		}
	case interface{ GetName() string }:
		r.Name = a.GetName()
	}
	c.requests = append(c.requests, r)
	if c.before != nil {
		if err := c.before(r); err != nil {
			return true, nil, err
		}
	}
	answer, err := c.carryOut(action, r)
	if err == nil && c.after != nil {
		err = c.after(r)
	}
	if err != nil {
		return true, nil, err
	}
	return true, answer, nil
}

func (c *Cluster) carryOut(action clienttesting.Action, r Request) (runtime.Object, error) {
	resource := action.GetResource().GroupResource()
	existing := c.objects[r.Resource][r.Name]
	switch a := action.(type) {
	case clienttesting.CreateActionImpl:
		if existing != nil {
			return nil, apierrors.NewAlreadyExists(resource, r.Name)
		}
		return c.create(r.Resource, a.Object)
	case clienttesting.ListActionImpl:
		answer := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(c.version)}}
		for _, pod := range list[*corev1.Pod](c, pods) {
			if a.ListRestrictions.Labels.Matches(labels.Set(pod.Labels)) {
				answer.Items = append(answer.Items, *pod)
			}
		}
		return answer, nil
	}
	if r.Resource == "version" {
		return nil, nil //nolint:nilnil // it is the discovery client's
	}
	if existing == nil {
		return nil, apierrors.NewNotFound(resource, r.Name)
	}
	switch a := action.(type) {
	case clienttesting.DeleteActionImpl:
		if p := a.DeleteOptions.Preconditions; p != nil {
			if p.UID != nil && *p.UID != existing.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != existing.GetResourceVersion() {
				return nil, apierrors.NewConflict(resource, r.Name, fmt.Errorf("the preconditions %v do not hold", p))
			}
		}
		c.delete(r.Resource, existing)
		return existing.DeepCopyObject(), nil
	case clienttesting.PatchActionImpl:
		return c.patch(a, existing)
	}
	return existing.DeepCopyObject(), nil
}

func (c *Cluster) create(resource string, what runtime.Object) (runtime.Object, error) {
	o, ok := what.DeepCopyObject().(object)
	if !ok {
		return nil, fmt.Errorf("an object of type %T", what)
	}
	pod, isPod := o.(*corev1.Pod)
	if isPod {
		pod.Status.Phase = corev1.PodPending
		if c.admit != nil {
			c.admit(pod)
		}
	}
	c.put(resource, o)
	if isPod {
		handle := c.kubelet
		c.work.Go(func() { handle(pod.Name) })
	}
	return o.DeepCopyObject(), nil
}

func (c *Cluster) put(resource string, o object) {
	c.next(o)
	o.SetUID(types.UID("uid-" + o.GetResourceVersion()))
	o.SetCreationTimestamp(now())
	c.objects[resource][o.GetName()] = o
	c.tell(watch.Added, nil, o)
}

// Put creates an object without starting it on the kubelet.
func (c *Cluster) Put(o runtime.Object) {
	resource := ""
	switch o.(type) {
	case *corev1.Pod:
		resource = pods
	case *corev1.Service:
		resource = services
	case *corev1.ConfigMap:
		resource = configMaps
	}
	if o, ok := o.DeepCopyObject().(object); ok {
		c.set(func() { c.put(resource, o) })
	}
}

func (c *Cluster) patch(a clienttesting.PatchActionImpl, existing object) (runtime.Object, error) {
	var patch struct {
		Metadata struct {
			UID         types.UID         `json:"uid"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(a.Patch, &patch); err != nil || a.PatchType != types.MergePatchType {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("patch %s: %v", a.Patch, err))
	}
	if uid := patch.Metadata.UID; uid != "" && uid != existing.GetUID() {
		return nil, apierrors.NewConflict(a.Resource.GroupResource(), a.Name, fmt.Errorf("its UID is %s, not %s", existing.GetUID(), uid))
	}
	merged := func(before, added map[string]string) map[string]string {
		all := map[string]string{}
		maps.Copy(all, before)
		maps.Copy(all, added)
		return all
	}
	changed, _ := existing.DeepCopyObject().(object)
	changed.SetAnnotations(merged(existing.GetAnnotations(), patch.Metadata.Annotations))
	changed.SetLabels(merged(existing.GetLabels(), patch.Metadata.Labels))
	c.change(a.Resource.Resource, changed)
	return changed.DeepCopyObject(), nil
}

// change replaces an object by a new version.
func (c *Cluster) change(resource string, changed object) {
	before := c.objects[resource][changed.GetName()]
	c.next(changed)
	c.objects[resource][changed.GetName()] = changed
	c.tell(watch.Modified, before, changed)
}

// delete deletes an object. A pod first gets a deletion timestamp and then terminates.
func (c *Cluster) delete(resource string, existing object) {
	if resource != pods {
		delete(c.objects[resource], existing.GetName())
		return
	}
	if existing.GetDeletionTimestamp() != nil {
		return
	}
	changed, _ := existing.DeepCopyObject().(object)
	changed.SetDeletionTimestamp(new(now()))
	c.change(resource, changed)
	if !c.holding {
		c.work.Go(func() { c.terminate(existing.GetName()) })
	}
}

// remove removes a pod and the Services that the pod owns.
func (c *Cluster) remove(name string) {
	o := c.objects[pods][name]
	if o == nil {
		return
	}
	delete(c.objects[pods], name)
	delete(c.wrappers, name)
	gone, _ := o.DeepCopyObject().(object)
	c.next(gone)
	c.tell(watch.Deleted, nil, gone)
	for name, service := range c.objects[services] {
		for _, owner := range service.GetOwnerReferences() {
			if owner.UID == o.GetUID() {
				delete(c.objects[services], name)
			}
		}
	}
}

// watches holds the watchers of the pods and the events for them.
type watches struct {
	// history holds all events. delayed holds its last events, which no watcher has received yet.
	history []event
	delayed []event
	delay   bool
	all     map[*watcher]struct{}
}

// event is a change of a pod. before is nil unless the pod was modified.
type event struct {
	what          watch.EventType
	before, after object
}

type watcher struct {
	c      *Cluster
	action clienttesting.WatchActionImpl
	events chan watch.Event
}

// watch starts a watch at a resource version.
func (c *Cluster) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, _ := action.(clienttesting.WatchActionImpl)
	// The channel is large enough that senders do not block.
	w := &watcher{c: c, action: a, events: make(chan watch.Event, 1<<12)}
	since, _ := strconv.Atoi(a.ListOptions.ResourceVersion)
	for _, event := range c.watches.history[:len(c.watches.history)-len(c.watches.delayed)] {
		if version, _ := strconv.Atoi(event.after.GetResourceVersion()); version > since {
			w.send(event)
		}
	}
	if c.watches.all == nil {
		c.watches.all = map[*watcher]struct{}{}
	}
	c.watches.all[w] = struct{}{}
	return true, w, nil
}

// send sends an event to the watcher. A pod that no longer matches the label selector is reported as deleted.
func (w *watcher) send(e event) {
	selected := func(o object) bool { return w.action.WatchRestrictions.Labels.Matches(labels.Set(o.GetLabels())) }
	what := e.what
	if e.before != nil {
		switch before, after := selected(e.before), selected(e.after); {
		case before && !after:
			what = watch.Deleted
		case !before && after:
			what = watch.Added
		case !after:
			return
		}
	} else if !selected(e.after) {
		return
	}
	w.events <- watch.Event{Type: what, Object: e.after.DeepCopyObject()}
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *watcher) Stop() {
	w.c.set(func() {
		if _, ok := w.c.watches.all[w]; ok {
			delete(w.c.watches.all, w)
			close(w.events)
		}
	})
}

// tell sends a change of a pod to all watchers.
func (c *Cluster) tell(what watch.EventType, before, o object) {
	if c.objects[pods][o.GetName()] != o && what != watch.Deleted {
		return
	}
	event := event{what, before, o}
	c.watches.history = append(c.watches.history, event)
	if c.watches.delay {
		c.watches.delayed = append(c.watches.delayed, event)
		return
	}
	for w := range c.watches.all {
		w.send(event)
	}
}

// DelayWatches starts to hold back watch events, or stops and sends the held events.
func (c *Cluster) DelayWatches(delay bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches.delay = delay
	if delay {
		return
	}
	for _, event := range c.watches.delayed {
		for w := range c.watches.all {
			w.send(event)
		}
	}
	c.watches.delayed = nil
}
