// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"log/slog"
	"sync"
	"time"
)

// logInterval is the minimum time between two log lines of one kind.
const logInterval = time.Minute

// refusals logs rejected connections at most once a minute, so that a client cannot flood the log.
type refusals struct {
	log     *slog.Logger
	message string

	mu    sync.Mutex
	count int
	next  time.Time
}

// newRefusals returns refusals with the given log message.
func newRefusals(log *slog.Logger, message string) *refusals {
	return &refusals{log: log, message: message}
}

// add counts a rejected peer. A log line has the latest peer and the number of rejections since the previous line.
func (r *refusals) add(peer string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if now := time.Now(); !now.Before(r.next) {
		r.log.Warn(r.message, "peer", peer, "count", r.count)
		r.count, r.next = 0, now.Add(logInterval)
	}
}
