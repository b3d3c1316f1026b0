// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/e2e/bench/calls"
	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/bench/turns"
	"github.com/krmfn/krmfn/e2e/load"
	"github.com/krmfn/krmfn/e2e/programs/command"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

const (
	// slow is a rate in calls per second at which calls do not overlap. slowTurns is the factor by which its turns are longer.
	slow, slowTurns = 10, 8
	// fast is a rate in calls per second at which calls overlap.
	fast = 50
	// wrapperAddress is the address of a pod's wrapper server for programs in the same pod.
	wrapperAddress = "127.0.0.1:" + wrapperPort
)

// measureHop runs calls at the slow rate in turns with bare processes on this machine and in the pod, and with calls from inside the pod to
// its own wrapper server. Calls to pods do not use TLS in this measurement, because the pod has no client certificate. The remaining share
// of a call's latency comes from the timings in the responses.
func (b *bench) measureHop(ctx context.Context) error {
	container := containerOf(b.pod)
	turn, list := slowTurns*b.turn, function.List(calls.Small)
	var said phases
	at := func(name string, call load.Call) turns.Way { return turns.Rate(name, slow, turn, call) }
	all, err := turns.Take(ctx, b.rounds,
		at(function.BareProcess, b.function.bare(list)),
		at("call", b.call(function.Standby, list)),
		at("call that says where its time goes", said.of(func(ctx context.Context) (*evaluationv1.Evaluation, error) {
			_, said, err := b.warm.client.EvaluateReported(ctx, b.warm.images[function.Standby], list)
			return said, err
		})),
		inPod("bare process in the pod", container, turn, "--executable="+executable),
		inPod("wrapper server, called in the pod", container, turn, "--wrapper="+wrapperAddress),
	)
	if err != nil {
		return err
	}
	bare, call, reported, podBare, wrapper := all[0], all[1], all[2], all[3], all[4]
	b.target.AddRate(function.Standby, slow, call, bare)
	b.latencies = turns.Latencies([]turns.Series{bare, call, podBare, wrapper})
	b.addHop(&said, bare, reported, podBare, wrapper)
	return nil
}

// addHop adds the rows that break down the latency of calls.
func (b *bench) addHop(said *phases, bare, call, podBare, wrapper turns.Series) {
	const section = "where a call's time goes, 10 calls a second, p50"
	p50 := turns.Percentile(50)
	b.Add(turns.Row(section, "bare process in the pod", p50, podBare, bare, nil),
		turns.Row(section, "call, as its caller sees it", p50, call, bare, nil))
	queue, start, execute := report.Median(said.queue), report.Median(said.start), report.Median(said.execute)
	for _, part := range []struct {
		what string
		took time.Duration
	}{
		{"of the call: function runner, two networks", call.All.At(50) - wrapper.All.At(50)},
		{"of the call: wrapper server", wrapper.All.At(50) - start - execute},
		{"of the call: waiting for a place", queue},
		{"of the call: start of the process", start},
		{"of the call: function", execute},
	} {
		b.Add(report.Row{Section: section, What: part.what, Measured: milliseconds(part.took), Unit: "ms"})
	}
	b.Note("Where a call's time goes: waiting, start and function are what the answers say. The wrapper server's part is that of calls " +
		"which come from its own pod, less start and function; what calls from outside take beyond those is the function runner's and the networks'. There is no TLS between " +
		"them, so that the pod can call itself; all other calls of pods but those at this rate have it.")
}

// phases collects the timings in responses. It is safe for concurrent use.
type phases struct {
	mu                    sync.Mutex
	queue, start, execute []time.Duration
}

// of returns a call that records the timings of each successful response.
func (p *phases) of(call func(context.Context) (*evaluationv1.Evaluation, error)) load.Call {
	return func(ctx context.Context) error {
		said, err := call(ctx)
		if err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		timings := said.GetTimings()
		p.queue = append(p.queue, timings.GetQueue().AsDuration())
		p.start = append(p.start, timings.GetStart().AsDuration())
		p.execute = append(p.execute, timings.GetExecute().AsDuration())
		return nil
	}
}

// container identifies a container on a node. The node itself is a container on this machine.
type container struct{ node, id string }

// inPod returns a way that runs inside a function's container, subject to the container's resource limits.
func inPod(name string, in container, turn time.Duration, flags ...string) turns.Way {
	return turns.Way{Name: name, Turn: func(ctx context.Context) (*load.Result, error) {
		id := "--exec-id=bench-" + strconv.FormatInt(time.Now().UnixNano(), 36)
		run := append([]string{
			"exec", in.node, "ctr", "--namespace=k8s.io", "task", "exec", id, in.id, inpod,
			fmt.Sprintf("--rate=%d", slow), fmt.Sprintf("--resources=%d", calls.Small), "--turn=" + turn.String(),
		}, flags...)
		text, err := command.Run(ctx, "docker", run...)
		if err != nil {
			return nil, err
		}
		result := new(load.Result)
		return result, json.Unmarshal([]byte(text), result)
	}}
}

// containerOf returns the first container of a pod.
func containerOf(pod *corev1.Pod) container {
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	return container{pod.Spec.NodeName, id}
}
