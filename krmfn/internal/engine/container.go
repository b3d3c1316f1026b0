// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/krmfn/internal/engine/entrypoint"
)

const (
	// startTime is the maximum time that a container may take to start.
	startTime = 2 * time.Minute
	// busyWait is the time that a call waits for a busy container before another one is started. Starting one takes about as long.
	busyWait = time.Second
	// maxContainers is the maximum number of containers per function.
	maxContainers = 8
)

// container is a reusable container. It answers one call at a time.
type container struct {
	evaluator *Evaluator
	name      string
	program   string
	cmd       *exec.Cmd
	stdin     io.WriteCloser
	stdout    *bufio.Reader
	stderr    *messages
	// wait waits until the engine's client exits. remove removes the container and waits until it is gone.
	wait, remove func()
	// kill stops the engine's client.
	kill context.CancelFunc
}

// acquire returns an idle container, or nil if the function cannot have reusable containers. If all containers are busy or starting, it
// waits. After busyWait, it starts another container, so that a function has several only if its calls are long and concurrent.
func (e *Evaluator) acquire(ctx context.Context, fn *function) (*container, error) {
	for wait := busyWait; ; {
		select {
		case c := <-fn.idle:
			return c, nil
		default:
		}
		e.mu.Lock()
		newPerCall, start := fn.newPerCall, fn.live == 0 || wait == 0 && fn.starting == 0 && fn.live < maxContainers
		if start && !newPerCall {
			fn.live++
			fn.starting++
		}
		e.mu.Unlock()
		switch {
		case newPerCall:
			return nil, nil
		case start:
			return e.startFor(ctx, fn)
		}
		timer := time.NewTimer(busyWait)
		select {
		case c := <-fn.idle:
			timer.Stop()
			return c, nil
		case <-timer.C:
			wait = 0
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// startFor starts a container for the function. If that fails, the function gets a new container for each call from then on, and
// startFor returns nil.
func (e *Evaluator) startFor(ctx context.Context, fn *function) (*container, error) {
	c, err := e.start(ctx, fn.image)
	e.mu.Lock()
	defer e.mu.Unlock()
	fn.starting--
	if err == nil {
		return c, nil
	}
	fn.live--
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// If the failure has nothing to do with the entrypoint, the next container fails, too, and its error is returned.
	fn.newPerCall = true
	return nil, nil
}

// discard removes a container that cannot answer further calls.
func (e *Evaluator) discard(fn *function, c *container) {
	c.remove()
	e.mu.Lock()
	defer e.mu.Unlock()
	fn.live--
}

// start starts a container and waits for its greeting.
func (e *Evaluator) start(ctx context.Context, i *image) (*container, error) {
	// The container outlives the call that starts it.
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	c := &container{evaluator: e, name: containerName(), program: i.command[0], stderr: &messages{}, kill: kill}
	c.cmd = e.client.command(running, e.options.reusableArguments(c.name, e.limits(ctx), i)...)
	c.cmd.Stderr = c.stderr
	c.wait = sync.OnceFunc(func() { _ = c.cmd.Wait() })
	c.remove = sync.OnceFunc(func() { c.end(running) })
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		kill()
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		kill()
		return nil, err
	}
	c.stdin, c.stdout = stdin, bufio.NewReader(stdout)
	if err := c.cmd.Start(); err != nil {
		kill()
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	stop := context.AfterFunc(ctx, c.remove)
	err = entrypoint.ReadGreeting(c.stdout)
	if !stop() || err != nil {
		c.remove()
		return nil, errors.Join(err, context.Cause(ctx))
	}
	e.warnings(c.stderr.take())
	return c, nil
}

// runInReusableContainer runs a call in a reusable container, and makes the container idle if it can answer further calls.
func (e *Evaluator) runInReusableContainer(ctx context.Context, fn *function, c *container, stdin []byte, limit int64) (process.Outcome, error) {
	begin := time.Now()
	stop := context.AfterFunc(ctx, c.remove)
	outcome, ran, err := c.call(stdin, limit)
	over := !stop()
	switch {
	case over && ctx.Err() != nil:
		e.discard(fn, c)
		return process.Outcome{ExitCode: -1, Execute: time.Since(begin)}, &process.KilledError{Cause: context.Cause(ctx)}
	case err != nil:
		e.discard(fn, c)
		return process.Outcome{ExitCode: -1}, &ContainerError{Engine: e.client.Name, Image: fn.image.ref, Err: fmt.Errorf("the container ended during a call: %w", err)}
	default:
		// Standard error is copied concurrently: a warning may come after the greeting.
		e.warnings(c.stderr.take())
		fn.idle <- c
	}
	return outcome, ran
}

// call sends a request and reads the answer. ran is the error of the run, and err means that the container is broken.
func (c *container) call(stdin []byte, limit int64) (outcome process.Outcome, ran, err error) {
	var sending sync.WaitGroup
	sending.Go(func() {
		// If the request cannot be written, no answer can be read either, and ReadAnswer returns the error.
		_ = entrypoint.WriteRequest(c.stdin, stdin, limit)
	})
	outcome, ran, err = entrypoint.ReadAnswer(c.stdout, c.program, limit)
	if err != nil {
		c.remove()
	}
	sending.Wait()
	return outcome, ran, err
}

// close ends an idle container by closing its input. After stopTime it removes the container.
func (c *container) close() {
	_ = c.stdin.Close()
	timer := time.AfterFunc(stopTime, c.remove)
	c.wait()
	if !timer.Stop() {
		c.remove()
	}
	c.kill()
	c.evaluator.warnings(c.stderr.take())
}

func (c *container) end(ctx context.Context) {
	_ = c.stdin.Close()
	c.evaluator.client.remove(ctx, c.name)
	c.kill()
	c.wait()
}
