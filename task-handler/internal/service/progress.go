// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"sync"

	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/render"
)

// outbox queues the progress of a render, so that the render does not wait for a slow client.
type outbox struct {
	mu      sync.Mutex
	changed sync.Cond
	waiting []*taskhandlerv1.Progress
	ended   bool
}

func newOutbox() *outbox {
	o := &outbox{}
	o.changed.L = &o.mu
	return o
}

// add queues the message for an event.
func (o *outbox) add(event render.Event) {
	progress := progressOf(event)
	if progress == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = append(o.waiting, progress)
	o.changed.Signal()
}

// end marks the end of the progress.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.changed.Signal()
}

// next waits for messages and returns them. After the end, it returns none.
func (o *outbox) next() []*taskhandlerv1.Progress {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waiting) == 0 && !o.ended {
		o.changed.Wait()
	}
	all := o.waiting
	o.waiting = nil
	return all
}

// sendTo sends all messages until the end or the first error.
func (o *outbox) sendTo(stream renderStream) error {
	for {
		all := o.next()
		if len(all) == 0 {
			return nil
		}
		for _, progress := range all {
			if err := stream.Send(&taskhandlerv1.RenderStreamResponse{Part: &taskhandlerv1.RenderStreamResponse_Progress{Progress: progress}}); err != nil {
				return err
			}
		}
	}
}
