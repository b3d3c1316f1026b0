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

	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/evaluation/process/internal/child"
	"github.com/krmfn/krmfn/services/evaluation/workerprotocol"
)

const (
	// greetingTime is how long a program may take until it says that it is a worker. One that knows nothing of workers may wait for
	// the end of its input instead.
	greetingTime = 30 * time.Second
	// exitGrace is how long a worker that has closed its standard output may take to end by itself: its exit code counts.
	exitGrace = 100 * time.Millisecond
	// buffered is what is read at once of an answer.
	buffered = 16 << 10
	// smallList is what a pipe takes without being read.
	smallList = 32 << 10
)

// fate is what becomes of a worker and of its call.
type fate int

const (
	// kept is a worker that can take the next call.
	kept fate = iota
	// spent is one that ends. The call has been answered, or has failed.
	spent
	// untouched is one that ended before it had read the request. The call has not run.
	untouched
	// foreign is one that does not speak the protocol.
	foreign
)

// worker is a process that answers many calls. It is for one call at a time.
type worker struct {
	child  *child.Child
	limits process.Limits
	stdout *bufio.Reader
	stderr stderr
	// statm tells the memory of the process; nil where the system has no such file.
	statm *os.File

	// calling is held while the pipes are in use: they are closed after it.
	calling sync.Mutex
	// ended is closed when the process has ended, with its last words in stderr, and state is set then.
	ended chan struct{}
	state *os.ProcessState
	// closed is closed when nothing of the process is left.
	closed chan struct{}
}

// start starts a command's worker, which has yet to greet.
func start(starter *child.Starter, c process.Command, limits process.Limits) (*worker, error) {
	command := c.Child()
	command.Argv = append(slices.Clip(command.Argv), workerprotocol.Argument)
	p, err := starter.Start(command)
	if err != nil {
		return nil, err
	}
	w := &worker{
		child: p, limits: limits, stdout: bufio.NewReaderSize(p.Stdout, buffered),
		stderr: stderr{file: p.Stderr, limit: int(limits.Stderr)},
		ended:  make(chan struct{}), closed: make(chan struct{}),
	}
	w.statm, _ = os.Open("/proc/" + strconv.Itoa(p.PID()) + "/statm")
	go w.wait() // whoever has started the worker waits for gone
	return w, nil
}

// wait leaves nothing of the process once it has ended.
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

// gone is closed when nothing of the process is left.
func (w *worker) gone() <-chan struct{} { return w.closed }

// end ends the process at once. It does not wait for it.
func (w *worker) end() { w.child.Kill() }

// expendable sets what is called when the process should end as soon as it has no call.
func (w *worker) expendable(leave func()) { w.child.Expendable(leave) }

// worn tells whether the call that has just ended left something behind: a file, or much memory.
func (w *worker) worn() bool {
	w.calling.Lock()
	defer w.calling.Unlock()
	select {
	case <-w.closed:
		return true // its directory is another's
	default:
		return w.memory() > mostMemory || !w.child.Pristine()
	}
}

// memory returns how many bytes of memory the process has; 0 where that is unknown.
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

// greet waits until the process says that it is a worker. The error is that it does not.
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

// call has the worker answer one call, whose output has at most so many bytes. Errors are those of process.Runner.Run. A worker
// whose fate is not kept is to be ended.
func (w *worker) call(ctx context.Context, list []byte, maxStdout int64) (out process.Outcome, f fate, err error) {
	w.calling.Lock()
	defer w.calling.Unlock()
	if w.stdout.Buffered() > 0 || child.Unread(w.child.Stdout) > 0 {
		return out, untouched, nil // it has written what nobody has asked for
	}
	_, _ = w.stderr.take() // what was written between two calls is of neither
	stop := context.AfterFunc(ctx, w.end)
	begin := time.Now()
	answer, err := w.exchange(list, maxStdout)
	f = kept
	if err != nil {
		f, err = w.broken(ctx, &out, err)
	} else {
		out.Stdout, out.ExitCode = answer.Stdout, answer.ExitCode
	}
	if !stop() && f == kept {
		f = spent
	}
	out.Execute = time.Since(begin)
	stderr, dropped := w.stderr.take()
	out.Stderr, out.StderrDropped = append(stderr, out.Stderr...), dropped
	return out, f, err
}

// exchange writes a request and reads the answer. The worker has ended if there is an error.
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
	if len(list) > smallList {
		go send() // it ends when the worker has read all, or ended
	} else {
		send()
	}
	answer, err := workerprotocol.ReadAnswer(w.stdout, maxStdout)
	if err != nil {
		w.quit(err)
	}
	if unwritten := <-unwritten; unwritten != nil {
		err = &unwrittenError{unwritten}
		w.quit(err)
	}
	return answer, err
}

// unwrittenError says that the worker has not read the whole request.
type unwrittenError struct{ error }

// quit ends a worker for an error of reading. One that has closed its standard output may end by itself.
func (w *worker) quit(err error) {
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

// broken tells what became of a call that was not answered, and fills its outcome.
func (w *worker) broken(ctx context.Context, out *process.Outcome, err error) (fate, error) {
	if tooLarge, ok := errors.AsType[*workerprotocol.TooLargeError](err); ok {
		return spent, &process.OutputTooLargeError{Size: tooLarge.Size, Limit: tooLarge.Limit}
	}
	if errors.Is(err, workerprotocol.ErrMalformed) {
		out.Stderr = fmt.Appendf(nil, "the function answers, as a worker, with what is no answer: %v", err)
		return foreign, nil
	}
	out.ExitCode = w.state.ExitCode()
	if ws, ok := w.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		out.Signal = ws.Signal()
	}
	if ctx.Err() != nil && out.Signal == syscall.SIGKILL {
		return spent, &process.KilledError{Cause: context.Cause(ctx)}
	}
	if errors.As(err, new(*unwrittenError)) || child.Unread(w.child.Stdin) > 0 {
		return untouched, nil
	}
	return spent, nil
}
