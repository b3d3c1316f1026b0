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

	"github.com/krmfn/krmfn/services/evaluation/workerprotocol"
)

const (
	// collectorPercent is how much garbage there may be, as a share of what is live: little is, between two calls.
	collectorPercent = 400
	// keptMemory is near how many bytes the garbage is collected often: what a worker has between two calls counts. A list needs more
	// the larger it is, bytesPerByte that for each byte; with less, the collector takes the time that it is to save.
	keptMemory   = 40 << 20
	bytesPerByte = 72
	// settling is how long what a call has started may take to end after the call.
	settling = 10 * time.Millisecond
)

// manyTimes answers calls until stdin ends, or until one leaves a state behind that is not to be trusted: it has panicked, or
// something of it still runs.
func manyTimes(f Function, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := keepFrom(stdin, stdout); err != nil {
		return err
	}
	// Functions whose users can ask for any amount of memory see how much they have by how often it is collected.
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

// keepFrom keeps the streams of the protocol from the function: what it prints goes to standard error, and to read it finds
// nothing.
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

// settled tells whether there are no more than so many goroutines, now or soon.
func settled(goroutines int) bool {
	for end := time.Now().Add(settling); runtime.NumGoroutine() > goroutines; {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(settling / 100)
	}
	return true
}
