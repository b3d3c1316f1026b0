// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import "math"

// take returns a lease on the best pod; nil if no ready pod has room for one more of this replica's calls. What other replicas do only
// decides which pod is best.
func (p *Pool) take() *Lease {
	pod := p.firstFree()
	if pod == nil {
		pod = p.leastLoaded()
	}
	if pod == nil {
		return nil
	}
	pod.running++
	return &Lease{Endpoint: pod.endpoint, Pod: pod}
}

// firstFree returns the first pod whose load is below the waitlist, so that the pods behind it fall idle.
func (p *Pool) firstFree() *Pod {
	limit := min(p.config.Waitlist, p.config.PerPod)
	for _, pod := range p.pods {
		if pod.callable() && p.room(pod) > 0 && pod.load() < limit {
			return pod
		}
	}
	return nil
}

// leastLoaded returns the pod with the lowest load of those that have room.
func (p *Pool) leastLoaded() *Pod {
	var least *Pod
	lowest := math.MaxInt
	for i := range p.pods {
		pod := p.pods[(i+p.rotation)%len(p.pods)]
		if !pod.callable() || p.room(pod) == 0 {
			continue
		}
		if load := pod.load(); load < lowest {
			least, lowest = pod, load
		}
	}
	return least
}
