// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/internal/process/internal/processtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func shell(script string, args ...string) Command {
	return Command{Argv: append([]string{"/bin/sh", "-c", script, "sh"}, args...), Env: []string{"PATH=/usr/bin:/bin"}}
}

// run runs a script without input and returns its exit code.
func run(s *Starter, script string, args ...string) (code int, err error) {
	p, err := s.Start(shell(script, args...))
	if err != nil {
		return 0, err
	}
	defer p.Close()
	Feed(p.Stdin, nil, false)
	state, _ := p.Wait()
	return state.ExitCode(), nil
}

// A process can answer several lines of input. After End, its process and directory are gone.
func TestProcessAnswersSeveralInputs(t *testing.T) {
	t.Parallel()
	s := NewStarter(t.TempDir())
	s.ledger = newLedger()
	p, err := s.Start(shell(`while read line; do echo "$line"; done; touch "$TMPDIR/left"; sleep 1000`))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		line := strconv.Itoa(i) + "\n"
		if _, err := p.Stdin.WriteString(line); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(line))
		if _, err := p.Stdout.Read(got); err != nil || string(got) != line {
			t.Fatalf("Read() = %q, error %v; want %q", got, err, line)
		}
	}
	if p.Exited() {
		t.Error("Exited() = true, want false")
	}
	pid := p.PID()
	p.Kill()
	processtest.WaitFor(t, p.Exited)
	p.End()
	s.Close()
	if !processtest.Dead(pid) || len(s.ledger.leaders) > 0 {
		t.Errorf("process %d is alive, or the ledger is not empty: %v", pid, s.ledger.leaders)
	}
	if left, err := os.ReadDir(s.scratch.root); err != nil || len(left) > 0 {
		t.Errorf("%v remains, error %v", left, err)
	}
}

// Feed writes synchronously what fits into the pipe. Rest writes what does not fit.
func TestFeed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		enlarge, size int
	}{
		"no input":                      {},
		"fits":                          {size: 1 << 10},
		"does not fit":                  {size: 2 << 20},
		"fits an enlarged pipe":         {enlarge: 250 << 10, size: 250 << 10},
		"does not fit an enlarged pipe": {enlarge: 2 << 20, size: 2 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := NewStarter(t.TempDir()).Start(shell("wc -c"))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			var pipes sync.WaitGroup
			p.Enlarge(tc.enlarge)
			if rest := Feed(p.Stdin, bytes.Repeat([]byte("x"), tc.size), false).Rest; rest != nil {
				pipes.Go(rest)
			}
			out := &Head{Limit: 100}
			pipes.Go(func() { Drain(p.Stdout, out) })
			_, err = p.Wait()
			pipes.Wait()
			if got := strings.TrimSpace(string(out.Output())); err != nil || got != strconv.Itoa(tc.size) {
				t.Errorf("the process has read %q bytes, error %v; want %d", got, err, tc.size)
			}
		})
	}
}
