// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"strconv"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

// watches are who watches the pods.
type watches struct {
	// history are all events; delayed has those that nobody is told of yet.
	history []watch.Event
	delayed []watch.Event
	delay   bool
	all     map[*watcher]struct{}
}

type watcher struct {
	c      *Cluster
	action clienttesting.WatchActionImpl
	events chan watch.Event
}

// watch begins to tell of what has happened since a resource version.
func (c *Cluster) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, _ := action.(clienttesting.WatchActionImpl)
	// Nobody who reads is waited for.
	w := &watcher{c: c, action: a, events: make(chan watch.Event, 1<<12)}
	since, _ := strconv.Atoi(a.ListOptions.ResourceVersion)
	for _, event := range c.watches.history[:len(c.watches.history)-len(c.watches.delayed)] {
		if version, _ := strconv.Atoi(event.Object.(object).GetResourceVersion()); version > since {
			w.send(event)
		}
	}
	if c.watches.all == nil {
		c.watches.all = map[*watcher]struct{}{}
	}
	c.watches.all[w] = struct{}{}
	return true, w, nil
}

func (w *watcher) send(event watch.Event) {
	o, ok := event.Object.DeepCopyObject().(object)
	if ok && w.action.WatchRestrictions.Labels.Matches(labels.Set(o.GetLabels())) {
		w.events <- watch.Event{Type: event.Type, Object: o}
	}
}

// ResultChan has the events.
func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

// Stop ends the watch.
func (w *watcher) Stop() {
	w.c.set(func() {
		if _, ok := w.c.watches.all[w]; ok {
			delete(w.c.watches.all, w)
			close(w.events)
		}
	})
}

// tell tells of a change of a pod.
func (c *Cluster) tell(what watch.EventType, o object) {
	if c.objects[pods][o.GetName()] != o && what != watch.Deleted {
		return
	}
	event := watch.Event{Type: what, Object: o}
	c.watches.history = append(c.watches.history, event)
	if c.watches.delay {
		c.watches.delayed = append(c.watches.delayed, event)
		return
	}
	for w := range c.watches.all {
		w.send(event)
	}
}

// DelayWatches holds back what watches tell, or lets it go on with what was held back.
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
