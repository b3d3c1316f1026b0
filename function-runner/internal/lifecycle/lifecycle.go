// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the state machine of a function pod, as one function runner sees it. It has one table of transitions, from
// which the documentation is made; everything else that is known of a pod's state is derived from it.
package lifecycle

import (
	"slices"
	"time"
)

// State is what a function pod is good for.
type State string

// The states.
const (
	// Requested pods are being made.
	Requested State = "requested"
	// Starting pods exist, and have to show that they serve.
	Starting State = "starting"
	// Ready pods take calls.
	Ready State = "ready"
	// Unreachable pods do not answer, or say that they do not serve. Others take their place until they are back.
	Unreachable State = "unreachable"
	// Expiring pods are idle, and a request to delete them is on its way. Calls may take them back.
	Expiring State = "expiring"
	// Leaving pods are being deleted: they finish the calls that they run.
	Leaving State = "leaving"
	// Failed pods have been given up and are to be deleted.
	Failed State = "failed"
)

// States are all of them, in the order of a pod's life.
var States = []State{Requested, Starting, Ready, Unreachable, Expiring, Leaving, Failed}

// Event is what happens to a function pod.
type Event string

// The events.
const (
	// Created is that the API server has the pod, whoever made it.
	Created Event = "created"
	// Answered is that the wrapper server says that it serves, or, of a pod that was there before, that the kubelet says so.
	Answered Event = "answered"
	// Suspected is that the connection broke, a call was refused, or the kubelet holds the pod for unready.
	Suspected Event = "suspected"
	// Lost is that the wrapper server does not answer, or says that it does not serve.
	Lost Event = "lost"
	// Expired is that nobody needs the pod: its delete request is about to be sent.
	Expired Event = "expired"
	// Kept is that the delete request failed, or that calls want the pod.
	Kept Event = "kept"
	// Deleted is that the API server has taken a delete request for the pod, whoever sent it.
	Deleted Event = "deleted"
	// Broken is that the pod cannot become ready, or not in time.
	Broken Event = "broken"
)

// transition is a row of the table.
type transition struct {
	from   []State
	event  Event
	to     State
	action string
}

// table has all transitions. An event that is not there for a state changes nothing. Of any state, the pod's end is the end.
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

// Pod is where a function pod is in its life. It is not safe for concurrent use.
type Pod struct {
	State State
	// Since is when the pod came into its state.
	Since time.Time
	// Reason is why, in the words of who saw it; nil where the state says it all.
	Reason error
	// Served says that the pod was ready before.
	Served bool
}

// Apply changes the state as the table says, and tells whether it has changed.
func (p *Pod) Apply(event Event, reason error) bool {
	i := slices.IndexFunc(table, func(t transition) bool { return t.event == event && slices.Contains(t.from, p.State) })
	if i < 0 {
		return false
	}
	p.State, p.Since, p.Reason = table[i].to, time.Now(), reason
	p.Served = p.Served || p.State == Ready
	return true
}

// In tells whether the pod is in one of some states.
func (p *Pod) In(states ...State) bool { return slices.Contains(states, p.State) }
