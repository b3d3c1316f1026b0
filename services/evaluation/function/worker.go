// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/krmfn/krmfn/internal/workerprotocol"
)

const (
	// collectorPercent is a worker's GOGC. Between two calls, little memory is live, so the heap may grow to several times that.
	collectorPercent = 400
	// keptMemory is a worker's memory limit (GOMEMLIMIT), in bytes, for small lists. Memory that a worker keeps between calls counts
	// toward the runner's limit. Larger lists get bytesPerByte bytes per byte; with less, frequent garbage collection would cost more
	// time than a worker saves.
	keptMemory   = 40 << 20
	bytesPerByte = 72
	// settling is the time that goroutines of a call have to exit after the call.
	settling = 10 * time.Millisecond
)

// manyTimes answers calls until stdin ends, or until a call may have left state behind: it panicked, or its goroutines still run.
func manyTimes(f Function, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := keepFrom(stdin, stdout); err != nil {
		return err
	}
	// A function with ProcessMemory checks its memory after each garbage collection, so do not make collections rare.
	if os.Getenv("GOGC") == "" && f.ProcessMemory == 0 {
		debug.SetGCPercent(collectorPercent)
	}
	goroutines := runtime.NumGoroutine()
	most, memory := debug.SetMemoryLimit(-1), int64(0)
	return workerprotocol.Serve(stdin, stdout, func(list []byte) (answer workerprotocol.Answer, last bool) {
		if want := min(most, max(keptMemory, bytesPerByte*int64(len(list)))); want != memory {
			memory = want
			debug.SetMemoryLimit(memory)
		}
		out, err := f.alone(list, stderr)
		answer.Stdout = out
		if err != nil {
			ReportFailure(stderr, err)
			answer.ExitCode = 1
		}
		return answer, errors.As(err, new(*PanicError)) || !settled(goroutines)
	})
}

// keepFrom separates the function from the streams of the protocol: os.Stdout becomes standard error, and os.Stdin is empty.
func keepFrom(stdin io.Reader, stdout io.Writer) error {
	if stdin == io.Reader(os.Stdin) {
		nothing, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		os.Stdin = nothing
	}
	if stdout == io.Writer(os.Stdout) {
		os.Stdout = os.Stderr
	}
	return nil
}

// settled waits until there are no more goroutines than given, and reports whether that was the case within the settling time.
func settled(goroutines int) bool {
	for end := time.Now().Add(settling); runtime.NumGoroutine() > goroutines; {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(settling / 100)
	}
	return true
}
