// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"math/rand/v2"
	"time"
)

const (
	// firstBusyPause is the time until a pod that answered busy is tried with one more call. It doubles with each busy answer, up to
	// longestBusyPause.
	firstBusyPause   = 20 * time.Millisecond
	longestBusyPause = time.Second
)

// capacity is what a pod takes of this replica's calls while the calls of other replicas fill it. The zero value is no limit.
type capacity struct {
	// limit is the number of calls that the pod takes while pause is not 0.
	limit int
	// pause is the time until the limit rises by one.
	pause time.Duration
}

// room returns how many more of this replica's calls the pod takes.
func (p *Pool) room(pod *Pod) int {
	limit := p.config.PerPod
	if pod.pause > 0 {
		limit = min(limit, pod.limit)
	}
	return max(0, limit-pod.running)
}

// saturated notes that a pod had no room for one more call than the number that runs in it now.
func (p *Pool) saturated(pod *Pod) {
	unlimited := pod.pause == 0
	pod.limit, pod.pause = pod.running, min(max(firstBusyPause, 2*pod.pause), longestBusyPause)
	if unlimited {
		p.raiseLater(pod)
	}
}

// raiseLater raises the limit of a saturated pod step by step, until it is the pool's.
func (p *Pool) raiseLater(pod *Pod) {
	pause := pod.pause*3/4 + rand.N(pod.pause/2) //nolint:gosec // G404: not a secret
	time.AfterFunc(pause, func() {
		p.mu.Lock()
		defer p.unlock()
		pod.limit = max(pod.limit, pod.running) + 1
		if pod.limit >= p.config.PerPod || !p.has(pod) {
			pod.capacity = capacity{}
		} else {
			p.raiseLater(pod)
		}
		p.dispatch()
	})
}
