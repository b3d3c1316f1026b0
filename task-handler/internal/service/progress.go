// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"sync"

	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/render"
)

// outbox has the progress that a client is yet to be sent: a render that waited for its client to read would keep its place among the
// renders for longer than any may take.
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

// add takes what is to be told of an event.
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

// end says that no more comes.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.changed.Signal()
}

// next waits for something to send. It returns nothing after the end.
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

// sendTo sends all of it, until the end or the first error.
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
