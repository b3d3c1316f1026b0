// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package entrypoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/workerprotocol"
)

// greeting is what the entrypoint writes when it is ready. It contains the version of the protocol.
const greeting = "krmfn entrypoint 1\n"

const (
	// maxStderr is the maximum length of standard error in an answer, in bytes. It exceeds the runner's limit.
	maxStderr = 1 << 20
)

// ErrMalformed reports that the bytes are not a message of an entrypoint.
var ErrMalformed = errors.New("not a message of the entrypoint protocol")

// Values of head.Kind.
const (
	ended = iota
	notStarted
	tooLarge
)

// head is the fixed part of an answer.
type head struct {
	Kind, ExitCode, Signal     int32
	Start, Execute             int64
	StderrDropped, Size        int64
	StderrLength, StdoutLength uint32
}

// ReadGreeting reads the greeting of an entrypoint. The error wraps ErrMalformed if the program writes something else.
func ReadGreeting(r io.Reader) error {
	got := make([]byte, len(greeting))
	if n, err := io.ReadFull(r, got); err != nil && string(got[:n]) == greeting[:n] {
		return err
	}
	if string(got) != greeting {
		return fmt.Errorf("greeting %q: %w", got, ErrMalformed)
	}
	return nil
}

// WriteRequest writes a request to run the function with stdin. maxStdout limits the output in bytes.
func WriteRequest(w io.Writer, stdin []byte, maxStdout int64) error {
	if int64(len(stdin)) > math.MaxUint32 {
		return fmt.Errorf("input of %d bytes: %w", len(stdin), ErrMalformed)
	}
	message := binary.BigEndian.AppendUint64(nil, uint64(max(maxStdout, 0)))
	message = binary.BigEndian.AppendUint32(message, uint32(len(stdin))) //nolint:gosec // checked above
	if _, err := w.Write(message); err != nil {
		return err
	}
	_, err := w.Write(stdin)
	return err
}

// request is one call.
type request struct {
	stdin     []byte
	maxStdout int64
}

// readRequest reads a request. It returns io.EOF if the input ends before one.
func readRequest(r io.Reader) (request, error) {
	var message [12]byte
	if _, err := io.ReadFull(r, message[:]); err != nil {
		return request{}, err
	}
	limit := binary.BigEndian.Uint64(message[:])
	if limit > math.MaxInt64 {
		return request{}, fmt.Errorf("limit of %d bytes: %w", limit, ErrMalformed)
	}
	stdin, err := workerprotocol.ReadBytes(r, binary.BigEndian.Uint32(message[8:]))
	return request{stdin, int64(limit)}, err
}

// writeAnswer writes the outcome and the error of process.Runner.Run.
func writeAnswer(w io.Writer, out process.Outcome, err error) error {
	h := head{
		ExitCode: int32(out.ExitCode), Signal: int32(out.Signal), //nolint:gosec // both are small
		Start: int64(out.Start), Execute: int64(out.Execute), StderrDropped: out.StderrDropped,
	}
	stderr, stdout := out.Stderr, out.Stdout
	if large, ok := errors.AsType[*process.OutputTooLargeError](err); ok {
		h.Kind, h.Size, stdout = tooLarge, large.Size, nil
	} else if err != nil {
		h.Kind, stderr, stdout = notStarted, []byte(err.Error()), nil
		if start, ok := errors.AsType[*process.StartError](err); ok {
			stderr = []byte(start.Err.Error())
		}
	}
	stderr = stderr[:min(len(stderr), maxStderr)]
	h.StderrLength, h.StdoutLength = uint32(len(stderr)), uint32(len(stdout)) //nolint:gosec // the runner's limits are smaller
	var message bytes.Buffer
	_ = binary.Write(&message, binary.BigEndian, h)
	message.Write(stderr)
	if _, err := message.WriteTo(w); err != nil {
		return err
	}
	_, err = w.Write(stdout)
	return err
}

// ReadAnswer reads an answer. maxStdout is the limit of the request, and program is the name for a *process.StartError. ran is the
// error of process.Runner.Run in the container. After err, the connection cannot be used.
func ReadAnswer(r io.Reader, program string, maxStdout int64) (out process.Outcome, ran, err error) {
	var h head
	message, err := workerprotocol.ReadBytes(r, uint32(binary.Size(h))) //nolint:gosec // it is small
	if err != nil {
		return process.Outcome{}, nil, err
	}
	if _, err := binary.Decode(message, binary.BigEndian, &h); err != nil {
		return process.Outcome{}, nil, err
	}
	const maxExitCode, maxSignal = 255, 127
	if h.Kind < ended || h.Kind > tooLarge || h.ExitCode < -1 || h.ExitCode > maxExitCode || h.Signal < 0 || h.Signal > maxSignal ||
		h.Start < 0 || h.Execute < 0 || h.StderrDropped < 0 || h.StderrLength > maxStderr || int64(h.StdoutLength) > maxStdout {
		return process.Outcome{}, nil, fmt.Errorf("answer that begins with %+v: %w", h, ErrMalformed)
	}
	stderr, err := workerprotocol.ReadBytes(r, h.StderrLength)
	if err != nil {
		return process.Outcome{}, nil, err
	}
	stdout, err := workerprotocol.ReadBytes(r, h.StdoutLength)
	if err != nil {
		return process.Outcome{}, nil, err
	}
	if h.Kind == notStarted {
		return process.Outcome{ExitCode: -1}, &process.StartError{Program: program, Err: errors.New(string(stderr))}, nil
	}
	out = process.Outcome{
		Stdout: stdout, Stderr: stderr, StderrDropped: h.StderrDropped, ExitCode: int(h.ExitCode), Signal: syscall.Signal(h.Signal),
		Start: time.Duration(h.Start), Execute: time.Duration(h.Execute),
	}
	if h.Kind == tooLarge {
		out.Stdout, ran = nil, &process.OutputTooLargeError{Size: h.Size, Limit: maxStdout}
	}
	return out, ran, nil
}
