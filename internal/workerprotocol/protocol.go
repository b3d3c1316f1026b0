// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package workerprotocol defines the protocol of workers: functions that can answer many calls in one process.
//
// The runner starts a worker with the function's command and one more argument, [Argument]. The worker writes [Greeting] to standard
// output when it is ready. Then it reads requests from standard input until it ends, and writes one answer to standard output for each,
// in order:
//
//	request: 4 bytes, the length of the ResourceList; the ResourceList
//	answer:  4 bytes, the exit code, 0 to 255; 4 bytes, the length of the output; the output
//
// Numbers are unsigned and big-endian. Exit code and output have the same meaning as for a process that answers one call. Standard
// error has no frames: what the worker writes before its answer belongs to the call.
package workerprotocol

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	// Argument is the argument that makes a command a worker.
	Argument = "--worker"
	// Greeting is the first output of a worker. It contains the version of the protocol.
	Greeting = "krmfn worker 1\n"
)

const (
	// maxExitCode is the maximum exit code of a process.
	maxExitCode = 255
	// trusted is the maximum amount of memory, in bytes, that is allocated for an announced length before the bytes arrive.
	trusted = 1 << 20
	// buffered is the maximum size, in bytes, of a message that is written with a single system call.
	buffered = 32 << 10
)

// ErrMalformed reports that the bytes are not a message of the protocol.
var ErrMalformed = errors.New("not a message of the worker protocol")

// TooLargeError reports that an output exceeds the reader's limit, in bytes. The output has not been read.
type TooLargeError struct{ Size, Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("output of %d bytes is larger than the limit of %d bytes", e.Size, e.Limit)
}

// Answer is the result of a call.
type Answer struct {
	// ExitCode is the exit code that a process for the call would have, 0 to 255.
	ExitCode int
	Stdout   []byte
}

// ReadGreeting reads a worker's greeting. The error wraps ErrMalformed if the program writes something else.
func ReadGreeting(r io.Reader) error {
	greeting := make([]byte, len(Greeting))
	if n, err := io.ReadFull(r, greeting); err != nil && string(greeting[:n]) == Greeting[:n] {
		return err
	}
	if string(greeting) != Greeting {
		return fmt.Errorf("greeting %q: %w", greeting, ErrMalformed)
	}
	return nil
}

// WriteRequest writes a request. It writes a small list with a single Write.
func WriteRequest(w io.Writer, list []byte) error {
	if int64(len(list)) > math.MaxUint32 {
		return fmt.Errorf("list of %d bytes: %w", len(list), ErrMalformed)
	}
	return write(w, binary.BigEndian.AppendUint32(nil, uint32(len(list))), list) //nolint:gosec // checked above
}

// ReadRequest reads a request. It returns io.EOF if the input ends before one.
func ReadRequest(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	return ReadBytes(r, binary.BigEndian.Uint32(head[:]))
}

// WriteAnswer writes an answer. It writes a small one with a single Write.
func WriteAnswer(w io.Writer, a Answer) error {
	if a.ExitCode < 0 || a.ExitCode > maxExitCode || int64(len(a.Stdout)) > math.MaxUint32 {
		return fmt.Errorf("exit code %d, output of %d bytes: %w", a.ExitCode, len(a.Stdout), ErrMalformed)
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(a.ExitCode))
	return write(w, binary.BigEndian.AppendUint32(head, uint32(len(a.Stdout))), a.Stdout) //nolint:gosec // checked above
}

// ReadAnswer reads an answer. limit is the maximum size of its output in bytes; if the output is larger, the error is a *TooLargeError.
// The error wraps ErrMalformed if the bytes are not an answer.
func ReadAnswer(r io.Reader, limit int64) (Answer, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Answer{}, err
	}
	code, size := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint32(head[4:])
	if code > maxExitCode {
		return Answer{}, fmt.Errorf("answer that begins with %q: %w", head, ErrMalformed)
	}
	if int64(size) > limit {
		return Answer{}, &TooLargeError{Size: int64(size), Limit: limit}
	}
	stdout, err := ReadBytes(r, size)
	return Answer{ExitCode: int(code), Stdout: stdout}, err
}

func write(w io.Writer, head, body []byte) error {
	if len(body) <= buffered {
		_, err := w.Write(append(head, body...))
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}

// ReadBytes reads size bytes. It allocates memory as the bytes arrive. It returns io.ErrUnexpectedEOF if there are fewer.
func ReadBytes(r io.Reader, size uint32) ([]byte, error) {
	if size <= trusted {
		b := make([]byte, size)
		_, err := io.ReadFull(r, b)
		return b, noEnd(err)
	}
	var b bytes.Buffer
	b.Grow(trusted)
	_, err := io.CopyN(&b, r, int64(size))
	return b.Bytes(), noEnd(err)
}

// noEnd turns io.EOF in the middle of a message into io.ErrUnexpectedEOF.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Serve runs a worker: it writes the greeting and answers requests with evaluate. It returns nil when in ends between two requests, or
// after an answer that evaluate reports as the last.
func Serve(in io.Reader, out io.Writer, evaluate func(list []byte) (answer Answer, last bool)) error {
	if _, err := io.WriteString(out, Greeting); err != nil {
		return err
	}
	requests := bufio.NewReaderSize(in, buffered)
	for {
		list, err := ReadRequest(requests)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		answer, last := evaluate(list)
		if err := WriteAnswer(out, answer); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		if last {
			return nil
		}
	}
}
