// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"math/rand/v2"
	"time"
)

const (
	// firstBusyPause is the time until the pool sends one more call to a pod that has answered busy. It doubles with each busy answer, up
	// to longestBusyPause.
	firstBusyPause   = 20 * time.Millisecond
	longestBusyPause = time.Second
)

// capacity limits the calls that this replica sends to a pod while calls of other replicas saturate it. The zero value means no limit.
type capacity struct {
	// limit is the maximum number of calls while pause is not 0.
	limit int
	// pause is the time until limit rises by one.
	pause time.Duration
}

// room returns the number of further calls that this replica may send to the pod.
func (p *Pool) room(pod *Pod) int {
	limit := p.config.PerPod
	if pod.pause > 0 {
		limit = min(limit, pod.limit)
	}
	return max(0, limit-pod.running)
}

// saturated records that a pod has no capacity for more than its currently running calls of this replica.
func (p *Pool) saturated(pod *Pod) {
	unlimited := pod.pause == 0
	pod.limit, pod.pause = pod.running, min(max(firstBusyPause, 2*pod.pause), longestBusyPause)
	if unlimited {
		p.raiseLater(pod)
	}
}

// raiseLater raises the limit of a saturated pod step by step, until it reaches the limit of the pool.
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
