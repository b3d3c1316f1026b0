// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package progress prints the progress of commands that take minutes.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// reminder is the interval at which Step repeats that a long step still runs.
const reminder = time.Minute

// Printer prints lines with the seconds since its creation. It is safe for concurrent use.
type Printer struct {
	start time.Time
	mu    sync.Mutex
	w     io.Writer
}

// New returns a Printer that writes to w.
func New(w io.Writer) *Printer { return &Printer{start: time.Now(), w: w} }

// Printf prints a line.
func (p *Printer) Printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, "[%4.0f s] %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
}

// Step prints the name of a step, runs it, prints a reminder every minute while it runs, and returns its error.
func (p *Printer) Step(what string, do func() error) error {
	p.Printf("%s", what)
	done := make(chan struct{})
	var reminding sync.WaitGroup
	reminding.Go(func() {
		tick := time.NewTicker(reminder)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				p.Printf("still: %s", what)
			}
		}
	})
	err := do()
	close(done)
	reminding.Wait()
	return err
}
