// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package logging_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/server/logging"
)

// Concurrent writers do not mix their lines, and the lines of one goroutine stay in order, also after Close.
func TestWriter(t *testing.T) {
	t.Parallel()
	var to bytes.Buffer
	w := logging.NewWriter(&to)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 1000 {
				fmt.Fprintf(w, "%d %d\n", i, j)
			}
		})
	}
	all.Wait()
	w.Close()
	fmt.Fprintf(w, "0 1000\n")
	next := map[int]int{}
	for line := range strings.Lines(to.String()) {
		var i, j int
		if _, err := fmt.Sscanf(line, "%d %d\n", &i, &j); err != nil || next[i] != j {
			t.Fatalf("got line %q, want %d %d: %v", line, i, next[i], err)
		}
		next[i]++
	}
	if len(next) != 8 || next[0] != 1001 || next[7] != 1000 {
		t.Errorf("numbers of lines by goroutine = %v, want 1001 for goroutine 0 and 1000 for the others", next)
	}
	w.Close()
}

// reader is a writer that blocks until open is closed.
type reader struct {
	open  chan struct{}
	taken int
}

func (r *reader) Write(lines []byte) (int, error) {
	<-r.open
	r.taken += len(lines)
	return len(lines), nil
}

// Write blocks only when the buffer is full.
func TestWriteBlocksWhenBufferIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const lines, size = 5000, 1000
		to := &reader{open: make(chan struct{})}
		w := logging.NewWriter(to)
		logged := 0
		go func() {
			for range lines {
				_, _ = w.Write(make([]byte, size))
				logged++
			}
		}()
		synctest.Wait()
		if logged < 1000 || logged > 3000 {
			t.Errorf("%d lines were buffered while the underlying writer blocked, want 1000 to 3000", logged)
		}
		close(to.open)
		time.Sleep(time.Second)
		synctest.Wait()
		w.Close()
		if logged != lines || to.taken != lines*size {
			t.Errorf("%d lines and %d bytes were written, want %d and %d", logged, to.taken, lines, lines*size)
		}
	})
}

// writes records the number of bytes of each write, by the time since begin.
type writes struct {
	begin time.Time
	all   map[time.Duration]int
}

func (w *writes) Write(lines []byte) (int, error) {
	w.all[time.Since(w.begin)] += len(lines)
	return len(lines), nil
}

// The first line is written at once, and the following lines are collected. Close writes without waiting for the interval.
func TestWriterCollectsLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &writes{time.Now(), map[time.Duration]int{}}
		w := logging.NewWriter(to)
		_, _ = w.Write([]byte("\n"))
		time.Sleep(time.Millisecond / 2)
		for range 110 {
			_, _ = w.Write([]byte("\n"))
			time.Sleep(time.Millisecond)
		}
		w.Close()
		want := map[time.Duration]int{0: 1, 50 * time.Millisecond: 50, 100 * time.Millisecond: 50, time.Since(to.begin): 10}
		if diff := cmp.Diff(want, to.all); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
