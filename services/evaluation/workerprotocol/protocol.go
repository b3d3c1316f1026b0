// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package workerprotocol is the language of workers: functions that agree to answer many calls in one process.
//
// A worker is the function's command with one more argument, [Argument]. When it is ready it writes [Greeting] to standard output,
// and then, until standard input ends, it reads requests from there and writes one answer to each, one after the other:
//
//	request: 4 bytes, the length of the ResourceList; the ResourceList
//	answer:  4 bytes, the exit code, 0 to 255; 4 bytes, the length of the output; the output
//
// Numbers are unsigned, the highest byte first. Exit code and output mean what they do of a process of its own. What the worker
// writes to standard error before it answers belongs to the call, so that it needs no frame.
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
	// Argument asks a command to be a worker.
	Argument = "--worker"
	// Greeting is how a worker says that it is one, and in which version of the protocol.
	Greeting = "krmfn worker 1\n"
)

const (
	// maxExitCode is the largest exit code of a process.
	maxExitCode = 255
	// trusted is how much memory is taken for a length that is told, before the bytes have come.
	trusted = 1 << 20
	// buffered is what one system call writes where a message has no more.
	buffered = 32 << 10
)

// ErrMalformed says that what was read is no message of the protocol.
var ErrMalformed = errors.New("not of the protocol of workers")

// TooLargeError says that an output is larger than its reader takes. It has not been read.
type TooLargeError struct{ Size, Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("output of %d bytes is larger than the limit of %d bytes", e.Size, e.Limit)
}

// Answer is what came of one call.
type Answer struct {
	// ExitCode is that of a process of its own, 0 to 255.
	ExitCode int
	Stdout   []byte
}

// ReadGreeting reads what a worker says first. The error wraps ErrMalformed if the program says something else.
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

// WriteRequest writes a request. A list that is small goes in one Write.
func WriteRequest(w io.Writer, list []byte) error {
	if int64(len(list)) > math.MaxUint32 {
		return fmt.Errorf("a list of %d bytes is %w", len(list), ErrMalformed)
	}
	return write(w, binary.BigEndian.AppendUint32(nil, uint32(len(list))), list) //nolint:gosec // as just seen
}

// ReadRequest reads a request. The error is io.EOF where the input ends before one.
func ReadRequest(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	return ReadBytes(r, binary.BigEndian.Uint32(head[:]))
}

// WriteAnswer writes an answer. One that is small goes in one Write.
func WriteAnswer(w io.Writer, a Answer) error {
	if a.ExitCode < 0 || a.ExitCode > maxExitCode || int64(len(a.Stdout)) > math.MaxUint32 {
		return fmt.Errorf("exit code %d with an output of %d bytes is %w", a.ExitCode, len(a.Stdout), ErrMalformed)
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(a.ExitCode))
	return write(w, binary.BigEndian.AppendUint32(head, uint32(len(a.Stdout))), a.Stdout) //nolint:gosec // as just seen
}

// ReadAnswer reads an answer whose output has at most limit bytes. The error is a *TooLargeError where it has more, and wraps
// ErrMalformed where it is no answer.
func ReadAnswer(r io.Reader, limit int64) (Answer, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Answer{}, err
	}
	code, size := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint32(head[4:])
	if code > maxExitCode {
		return Answer{}, fmt.Errorf("an answer that begins with %q is %w", head, ErrMalformed)
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

// ReadBytes reads so many bytes. A length that nothing follows takes no memory. The error is io.ErrUnexpectedEOF where fewer follow.
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

// noEnd makes an end amid a message an error that is no regular end.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Serve is a worker: it greets, and answers requests with what evaluate makes of them until in ends, which is no error, or until
// evaluate says that this answer was the last.
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
