// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import "math"

// take returns a lease on the best pod, or nil if no ready pod has capacity for another call of this replica. The loads of other replicas
// only affect which pod is best.
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

// firstFree returns the first pod with capacity whose load is below the waitlist, so that pods with higher ordinals become idle.
func (p *Pool) firstFree() *Pod {
	limit := min(p.config.Waitlist, p.config.PerPod)
	for _, pod := range p.pods {
		if pod.callable() && p.room(pod) > 0 && pod.load() < limit {
			return pod
		}
	}
	return nil
}

// leastLoaded returns the pod with capacity that has the lowest load.
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
