// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the state machine of a function pod, as one function runner sees the pod. The documentation is generated from its
// table of transitions. Package pool keeps the state of each pod, and derives from it whether the pod counts towards limits, takes calls,
// or can be deleted.
package lifecycle

import (
	"slices"
	"time"
)

// State is the state of a function pod.
type State string

// States of function pods.
const (
	// Requested pods are being created.
	Requested State = "requested"
	// Starting pods exist, and must prove that they serve.
	Starting State = "starting"
	// Ready pods take calls.
	Ready State = "ready"
	// Unreachable pods do not respond, or report that they do not serve. Other pods replace them until they are back.
	Unreachable State = "unreachable"
	// Expiring pods are idle, and a request to delete them is in flight. Calls may take them back.
	Expiring State = "expiring"
	// Leaving pods are being deleted. They finish their running calls.
	Leaving State = "leaving"
	// Failed pods must be deleted.
	Failed State = "failed"
)

// States are all states, in the order of a pod's life.
var States = []State{Requested, Starting, Ready, Unreachable, Expiring, Leaving, Failed}

// Event is an event of a function pod.
type Event string

// Events of function pods.
const (
	// Created: the API server has created the pod, for any replica.
	Created Event = "created"
	// Answered: the wrapper server reports that it serves. For an adopted pod, the Ready condition from the kubelet suffices.
	Answered Event = "answered"
	// Suspected: the connection broke, a call was rejected, the address changed, or the kubelet reports the pod as unready.
	Suspected Event = "suspected"
	// Lost: the wrapper server does not respond, or reports that it does not serve.
	Lost Event = "lost"
	// Expired: the pod is idle, and the request to delete it is about to be sent.
	Expired Event = "expired"
	// Kept: the request to delete the pod failed, or calls need the pod.
	Kept Event = "kept"
	// Deleted: the API server has accepted a request to delete the pod, from any client.
	Deleted Event = "deleted"
	// Broken: the pod cannot become ready, or has not become ready in time.
	Broken Event = "broken"
)

// transition is a row of the table of transitions.
type transition struct {
	from   []State
	event  Event
	to     State
	action string
}

// table holds all transitions. An event without a transition for the current state is ignored. A pod that no longer exists leaves its
// pool from any state.
var table = []transition{
	{[]State{Requested}, Created, Starting, "connect to it as soon as it has an address; give up after `--pod-ready-timeout`"},
	{[]State{Requested, Starting, Unreachable}, Answered, Ready, "send it the calls that have waited longest; end the backoff of the pool"},
	{[]State{Ready}, Suspected, Starting, "send it no calls and check its health at once; consider it lost after a second"},
	{[]State{Starting, Ready}, Lost, Unreachable, "send calls that it has not started to other pods; create another pod if calls wait; give up after `--pod-ready-timeout`, or after 10 seconds if the kubelet reports it as unready"},
	{[]State{Ready}, Expired, Expiring, "send it no calls, and request its deletion"},
	{[]State{Expiring}, Kept, Ready, "send it calls again"},
	{[]State{Requested, Starting, Ready, Unreachable, Expiring, Failed}, Deleted, Leaving, "let it finish its running calls; create another pod if calls wait"},
	{[]State{Requested, Starting, Ready, Unreachable}, Broken, Failed, "delete it; if it was never ready, return the reason to its callers, and let the pool back off"},
}

// Pod is the state of one function pod. It is not safe for concurrent use.
type Pod struct {
	State State
	// Since is when the pod entered its state.
	Since time.Time
	// Reason is why the pod entered its state, or nil if the state is self-explanatory.
	Reason error
	// Served reports that the pod is or was ready.
	Served bool
}

// Apply applies an event according to the table, and reports whether the state has changed.
func (p *Pod) Apply(event Event, reason error) bool {
	i := slices.IndexFunc(table, func(t transition) bool { return t.event == event && slices.Contains(t.from, p.State) })
	if i < 0 {
		return false
	}
	p.State, p.Since, p.Reason = table[i].to, time.Now(), reason
	p.Served = p.Served || p.State == Ready
	return true
}

// In reports whether the pod is in one of the states.
func (p *Pod) In(states ...State) bool { return slices.Contains(states, p.State) }
