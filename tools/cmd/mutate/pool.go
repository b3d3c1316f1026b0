// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

var poolMutations = table{"function-runner/internal/pool", []string{"."}, []mutation{
	{
		"acquire.go", "\t\t\ta.lease.Release()\n", "",
		"a lease of a caller that has gone is never released",
	},
	{
		"acquire.go", "n >= p.config.MaxWaiting", "n > p.config.MaxWaiting",
		"more calls wait than may",
	},
	{
		"acquire.go", "p.queue.PushFront", "p.queue.PushBack",
		"a call that a busy pod sent back waits behind all others",
	},
	{
		"growth.go", "p.count(isExpiring) == 0 && ", "",
		"a call waits for a pod that starts while an expiring one could run it",
	},
	{
		"growth.go", "needed -= p.recall(needed)", "",
		"idle pods are deleted while new ones are created",
	},
	{
		"growth.go", "min(needed, p.config.MaxPods-p.live())", "needed + 0",
		"a pool has more pods than the maximum",
	},
	{
		"growth.go", "problem = pod.problem", "return nil",
		"calls wait for a pod that cannot start until their deadlines",
	},
	{
		"backoff.go", "2*p.config.MaxPods + extraPods - len(p.pods)", "math.MaxInt",
		"pods that cannot be deleted grow in number",
	},
	{
		"backoff.go", "min(max(firstPause, 2*f.pause), longestPause)", "firstPause",
		"a pod is created every second for a broken image",
	},
	{
		"backoff.go", "min(allowed, 1-p.count((*Pod).pending))", "allowed",
		"several pods try at once what has just failed",
	},
	{
		"backoff.go", "if pod.status.Served {", "if false {",
		"the pool backs off after a pod that was ready has failed",
	},
	{
		"transition.go", "p.block(pod.Ordinal, cooling)", "",
		"replicas create two pods for one that has gone",
	},
	{
		"idle.go", "pod.used.After(pod.offered) || ", "",
		"a pod that was just used is deleted",
	},
	{
		"idle.go", "others.After(since)", "false",
		"a pod that only another replica uses is deleted",
	},
	{
		"idle.go", " || p.live() <= p.config.MinPods", "",
		"pods of the minimum are deleted",
	},
	{
		"idle.go", " || p.queue.Len() > 0 {", " {",
		"a pod is deleted although a call waits for it",
	},
	{
		"pod.go", "pod.external * math.Exp2(-float64(time.Since(pod.reported))/float64(halfLife))", "pod.external",
		"calls of other replicas count after they have ended",
	},
	{
		"choice.go", "pod.load() < limit", "pod.running < limit",
		"a pod that other replicas fill is chosen first",
	},
	{
		"choice.go", "(i+p.rotation)%len(p.pods)", "i",
		"all replicas choose the same one of equally loaded pods",
	},
	{
		"capacity.go", "max(pod.limit, pod.running) + 1", "p.config.PerPod",
		"a busy pod gets all calls at once again",
	},
}}
