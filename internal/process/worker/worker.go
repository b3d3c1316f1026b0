// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/process/internal/child"
	"github.com/krmfn/krmfn/internal/workerprotocol"
)

const (
	// greetingTime is the maximum time between the start of a program and its greeting. A program that does not know the protocol may
	// wait for the end of its input instead of greeting.
	greetingTime = 30 * time.Second
	// exitGrace is the time in which a worker that has closed its standard output may exit by itself, so that its exit code is known.
	exitGrace = 100 * time.Millisecond
	// readBufferSize is the size of the read buffer for answers, in bytes.
	readBufferSize = 16 << 10
	// maxPipedList is a size, in bytes, that fits into an empty pipe.
	maxPipedList = 32 << 10
)

// disposition is what must happen to a worker after a call, and whether the worker has run the call.
type disposition int

const (
	// reusable means that the worker can take the next call.
	reusable disposition = iota
	// mustEnd means that the worker has run the call, and must be ended.
	mustEnd
	// notRun means that the worker exited before it read the request. The call has not run.
	notRun
	// protocolViolation means that the worker has violated the protocol.
	protocolViolation
)

// worker is a process that answers many calls, one at a time.
type worker struct {
	child  *child.Child
	limits process.Limits
	stdout *bufio.Reader
	stderr stderr
	// statm is /proc/PID/statm, which contains the memory of the process. It is nil if the system has no such file.
	statm *os.File

	// calling is held while a goroutine uses the pipes. wait closes them while holding it.
	calling sync.Mutex
	// ended is closed after the process has exited, state has been set, and stderr is complete.
	ended chan struct{}
	state *os.ProcessState
	// closed is closed after the process and its resources have been cleaned up.
	closed chan struct{}
}

// start starts a worker. It has not greeted yet.
func start(starter *child.Starter, c process.Command, limits process.Limits) (*worker, error) {
	command := c.Child()
	command.Argv = append(slices.Clip(command.Argv), workerprotocol.Argument)
	p, err := starter.Start(command)
	if err != nil {
		return nil, err
	}
	w := &worker{
		child: p, limits: limits, stdout: bufio.NewReaderSize(p.Stdout, readBufferSize),
		stderr: stderr{file: p.Stderr, limit: int(limits.Stderr)},
		ended:  make(chan struct{}), closed: make(chan struct{}),
	}
	w.statm, _ = os.Open("/proc/" + strconv.Itoa(p.PID()) + "/statm")
	go w.wait() // the pool waits for gone
	return w, nil
}

// wait waits until the process exits, and cleans up.
func (w *worker) wait() {
	var following sync.WaitGroup
	following.Go(w.stderr.follow)
	w.state, _ = w.child.Wait()
	following.Wait()
	close(w.ended)
	w.calling.Lock()
	defer w.calling.Unlock()
	w.child.Close()
	if w.statm != nil {
		_ = w.statm.Close()
	}
	close(w.closed)
}

// gone implements handle.
func (w *worker) gone() <-chan struct{} { return w.closed }

// end implements handle.
func (w *worker) end() { w.child.Kill() }

// expendable implements handle.
func (w *worker) expendable(leave func()) { w.child.Expendable(leave) }

// worn implements handle. A worker is replaced if a call left a file in its directory, or if it has more than maxIdleMemory bytes.
func (w *worker) worn() bool {
	w.calling.Lock()
	defer w.calling.Unlock()
	select {
	case <-w.closed:
		return true // another process may use its directory
	default:
		return w.memory() > maxIdleMemory || !w.child.Pristine()
	}
}

// memory returns the resident memory of the process in bytes, or 0 if it is unknown.
func (w *worker) memory() int64 {
	var text [64]byte
	if w.statm == nil {
		return 0
	}
	n, _ := w.statm.ReadAt(text[:], 0)
	fields := bytes.Fields(text[:n])
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// greet implements handle.
func (w *worker) greet() error {
	w.calling.Lock()
	defer w.calling.Unlock()
	late := time.AfterFunc(greetingTime, w.end)
	defer late.Stop()
	err := workerprotocol.ReadGreeting(w.stdout)
	if err == nil {
		return nil
	}
	w.end()
	<-w.ended
	if text, _ := w.stderr.take(); len(text) > 0 {
		return fmt.Errorf("%w, standard error has %.200q", err, text)
	}
	return err
}

// call sends a list to the worker and returns its answer. maxStdout limits the output in bytes. The errors are the same as for
// process.Runner.Run. Unless d is reusable, the caller must end the worker.
func (w *worker) call(ctx context.Context, list []byte, maxStdout int64) (out process.Outcome, d disposition, err error) {
	w.calling.Lock()
	defer w.calling.Unlock()
	if w.stdout.Buffered() > 0 || child.Unread(w.child.Stdout) > 0 {
		return out, notRun, nil // the worker wrote output that no call asked for
	}
	_, _ = w.stderr.take() // output between two calls belongs to neither
	stop := context.AfterFunc(ctx, w.end)
	begin := time.Now()
	answer, err := w.exchange(list, maxStdout)
	d = reusable
	if err != nil {
		d, err = w.classifyFailure(ctx, &out, err)
	} else {
		out.Stdout, out.ExitCode = answer.Stdout, answer.ExitCode
	}
	if !stop() && d == reusable {
		d = mustEnd
	}
	out.Execute = time.Since(begin)
	stderr, dropped := w.stderr.take()
	out.Stderr, out.StderrDropped = append(stderr, out.Stderr...), dropped
	return out, d, err
}

// exchange writes a request and reads the answer. If it returns an error, the worker has exited.
func (w *worker) exchange(list []byte, maxStdout int64) (workerprotocol.Answer, error) {
	w.child.Enlarge(len(list))
	unwritten := make(chan error, 1)
	send := func() {
		err := workerprotocol.WriteRequest(w.child.Stdin, list)
		if err != nil {
			w.end()
		}
		unwritten <- err
	}
	if len(list) > maxPipedList {
		go send() // it returns when the worker has read the list, or has exited
	} else {
		send()
	}
	answer, err := workerprotocol.ReadAnswer(w.stdout, maxStdout)
	if err != nil {
		w.endAfter(err)
	}
	if unwritten := <-unwritten; unwritten != nil {
		err = &unwrittenError{unwritten}
		w.endAfter(err)
	}
	return answer, err
}

// unwrittenError means that the worker has not read the complete request.
type unwrittenError struct{ error }

// endAfter ends a worker after a read error. A worker that has closed its standard output may exit by itself within exitGrace.
func (w *worker) endAfter(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		grace := time.NewTimer(exitGrace)
		defer grace.Stop()
		select {
		case <-w.ended:
		case <-grace.C:
		}
	}
	w.end()
	<-w.ended
}

// classifyFailure returns the disposition of a worker after a failed exchange, and fills the call's outcome.
func (w *worker) classifyFailure(ctx context.Context, out *process.Outcome, err error) (disposition, error) {
	if tooLarge, ok := errors.AsType[*workerprotocol.TooLargeError](err); ok {
		return mustEnd, &process.OutputTooLargeError{Size: tooLarge.Size, Limit: tooLarge.Limit}
	}
	if errors.Is(err, workerprotocol.ErrMalformed) {
		out.Stderr = fmt.Appendf(nil, "invalid answer from the worker: %v", err)
		return protocolViolation, nil
	}
	out.ExitCode = w.state.ExitCode()
	if ws, ok := w.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		out.Signal = ws.Signal()
	}
	if ctx.Err() != nil && out.Signal == syscall.SIGKILL {
		return mustEnd, &process.KilledError{Cause: context.Cause(ctx)}
	}
	if errors.As(err, new(*unwrittenError)) || child.Unread(w.child.Stdin) > 0 {
		return notRun, nil
	}
	return mustEnd, nil
}
