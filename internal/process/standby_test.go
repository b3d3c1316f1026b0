// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/process/internal/child"
	"github.com/krmfn/krmfn/internal/process/internal/processtest"
)

// newStandbyRunner returns a runner with one standby process per command, and its log.
func newStandbyRunner(t *testing.T) (*Runner, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	r := NewRunner(Options{ScratchRoot: t.TempDir(), Standby: Standby{Processes: 1, Log: slog.New(slog.NewTextHandler(log, nil))}})
	t.Cleanup(r.Close)
	return r, log
}

// idleChildren returns the standby processes once they have started.
func idleChildren(r *Runner) (children []*child.Child) {
	r.standby.mu.Lock()
	idle := append([]*standbyProcess(nil), r.standby.idle...)
	r.standby.mu.Unlock()
	for _, sp := range idle {
		if <-sp.started; sp.process != nil {
			children = append(children, sp.process.(*child.Child))
		}
	}
	return children
}

// Each call has a process that was started before the call, with an empty directory that no other call uses.
func TestStandbyAnswersOneCall(t *testing.T) {
	t.Parallel()
	r, _ := newStandbyRunner(t)
	command := shell(`read x; echo $$ "$(ls -A "$TMPDIR")" $x; touch "$TMPDIR/left"`)
	r.Prepare(command)
	for i := range 5 {
		pid := idleChildren(r)[0].PID()
		in := strconv.Itoa(i)
		got, err := r.Run(t.Context(), command, []byte(in+"\n"))
		if want := strconv.Itoa(pid) + "  " + in + "\n"; err != nil || string(got.Stdout) != want {
			t.Errorf("got %q, error %v; want %q", got.Stdout, err, want)
		}
	}
	if diff := cmp.Diff(map[StandbyOutcome]int64{StandbyUsed: 5}, r.StandbyOutcomes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A standby process is used for calls of equal commands only.
func TestStandbyRequiresEqualCommands(t *testing.T) {
	t.Parallel()
	one := shell(`read x; echo "$A$1$GOMEMLIMIT"; pwd`, "1")
	one.Env, one.Dir, one.MemoryLimit, one.MaxData = append(one.Env, "A=a"), "/", 1<<30, 1<<31
	for name, tc := range map[string]struct {
		change func(c *Command)
		used   bool
	}{
		"equal":                     {func(*Command) {}, true},
		"output limit":              {func(c *Command) { c.MaxStdout = 1000 }, true},
		"argument":                  {func(c *Command) { c.Argv = append(c.Argv[:len(c.Argv)-1:len(c.Argv)-1], "2") }, false},
		"other split of arguments":  {func(c *Command) { c.Argv = append(c.Argv[:len(c.Argv)-2:len(c.Argv)-2], "s", "h1") }, false},
		"additional empty argument": {func(c *Command) { c.Argv = append(slices.Clip(c.Argv), "") }, false},
		"environment":               {func(c *Command) { c.Env = []string{c.Env[0], "A=b"} }, false},
		"directory":                 {func(c *Command) { c.Dir = "/tmp" }, false},
		"memory limit":              {func(c *Command) { c.MemoryLimit = 1 << 29 }, false},
		"data limit":                {func(c *Command) { c.MaxData = 1 << 30 }, false},
		"standby disabled":          {func(c *Command) { c.NoStandby = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := newStandbyRunner(t)
			other := one
			tc.change(&other)
			want, err := NewRunner(Options{ScratchRoot: t.TempDir()}).Run(t.Context(), other, []byte("go\n"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := prepared(r, one).Run(t.Context(), other, []byte("go\n"))
			if err != nil || !bytes.Equal(got.Stdout, want.Stdout) {
				t.Errorf("got %q, error %v; want %q", got.Stdout, err, want.Stdout)
			}
			if used := r.StandbyOutcomes()[StandbyUsed] == 1; used != tc.used {
				t.Errorf("standby process used: %v, want %v", used, tc.used)
			}
		})
	}
}

// A standby process that exits, writes, or closes a stream before its call is discarded. The call succeeds in a new process, and the
// command gets no more standby processes.
func TestStandbyThatIsNotIdle(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		meddle func(p *child.Child)
		want   Outcome
		reason string
	}{
		"writes":               {script: "echo early; cat", want: Outcome{Stdout: []byte("early\nin")}, reason: "wrote"},
		"writes to stderr":     {script: "echo early >&2; cat", want: Outcome{Stdout: []byte("in"), Stderr: []byte("early\n")}, reason: "wrote"},
		"ignores its input":    {script: "echo out", want: Outcome{Stdout: []byte("out\n")}, reason: "before it got input"},
		"fails":                {script: "exit 3", want: Outcome{ExitCode: 3}, reason: "ended"},
		"closes its input":     {script: "exec <&-; while [ ! -e \"$2\" ]; do sleep 0.01; done; echo out", want: Outcome{Stdout: []byte("out\n")}, reason: "closed standard input"},
		"closes its output":    {script: "exec >&-; cat >&2", want: Outcome{Stderr: []byte("in")}, reason: "closed its output"},
		"is killed":            {script: "cat", meddle: (*child.Child).Kill, want: Outcome{Stdout: []byte("in")}, reason: "ended"},
		"fails the first time": {script: `test -e "$1" && cat && exit; touch "$1"; exit 3`, want: Outcome{Stdout: []byte("in")}, reason: "ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, log := newStandbyRunner(t)
			seen := filepath.Join(t.TempDir(), "seen")
			command := shell(tc.script, filepath.Join(t.TempDir(), "file"), seen)
			r.Prepare(command)
			p := idleChildren(r)[0]
			if tc.meddle != nil {
				tc.meddle(p)
			}
			processtest.WaitFor(t, func() bool { return strings.Contains(p.WhyNotIdle(), tc.reason) })
			if err := os.WriteFile(seen, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				got, err := r.Run(t.Context(), command, []byte("in"))
				got.Start, got.Execute = 0, 0
				if diff := cmp.Diff(tc.want, got, cmp.Transformer("text", func(b []byte) string { return string(b) })); err != nil || diff != "" {
					t.Errorf("error %v (-want +got):\n%s", err, diff)
				}
			}
			r.Prepare(command)
			if n := len(idleChildren(r)); n != 0 {
				t.Errorf("%d standby processes, want 0", n)
			}
			r.Close()
			if diff := cmp.Diff(map[StandbyOutcome]int64{StandbyRefused: 1}, r.StandbyOutcomes()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, tc.reason) {
				t.Errorf("log = %q, want one line with %q", text, tc.reason)
			}
		})
	}
}

// If a standby process exits when it gets its input, or can no longer read it, the call runs in a new process.
func TestStandbyThatMissesItsInput(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{"ends": "exit 1", "is killed": "kill -KILL $$", "ends calmly": "exit"} {
		for _, size := range []int{3, 3 << 20} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, size), func(t *testing.T) {
				t.Parallel()
				r, log := newStandbyRunner(t)
				r.earlyExit = time.Hour
				taken := filepath.Join(t.TempDir(), "taken")
				command := shell(`while [ ! -e "$2" ]; do sleep 0.01; done; test -e "$1" && echo answer && exit; touch "$1"; `+end,
					filepath.Join(t.TempDir(), "file"), taken)
				prepared(r, command)
				go func() {
					processtest.WaitFor(t, func() bool { return len(idleChildren(r)) == 0 })
					if err := os.WriteFile(taken, nil, 0o600); err != nil {
						t.Error(err)
					}
				}()
				got, err := r.Run(t.Context(), command, bytes.Repeat([]byte("x"), size))
				if err != nil || string(got.Stdout) != "answer\n" || got.ExitCode != 0 {
					t.Errorf("got %q, exit code %d, error %v", got.Stdout, got.ExitCode, err)
				}
				if len(idleChildren(r)) != 0 || strings.Count(log.String(), "\n") != 1 {
					t.Errorf("the command has a standby process, or the log is not one line: %q", log)
				}
			})
		}
	}
}

// A process that has read some of its input may have had side effects. Its call does not run again, even if it exits at once and writes
// nothing.
func TestStandbyThatReadsRunsOnce(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"all":  `cat >/dev/null; echo ran >>"$1"; exit 3`,
		"some": `read x; echo ran >>"$1"; exit 3`,
	} {
		for _, lines := range []int{2, 1 << 20} {
			t.Run(fmt.Sprintf("%s of %d lines", name, lines), func(t *testing.T) {
				t.Parallel()
				r, _ := newStandbyRunner(t)
				r.earlyExit = time.Hour
				file := filepath.Join(t.TempDir(), "file")
				command := shell(script, file)
				got, err := prepared(r, command).Run(t.Context(), command, bytes.Repeat([]byte("go\n"), lines))
				if err != nil || got.ExitCode != 3 {
					t.Errorf("exit code %d, error %v", got.ExitCode, err)
				}
				if ran, err := os.ReadFile(file); err != nil || string(ran) != "ran\n" {
					t.Errorf("the function's log = %q, error %v; want one line", ran, err)
				}
			})
		}
	}
}

// A process that fails later without output has failed. Its call does not run again.
func TestStandbyThatFailsSilently(t *testing.T) {
	t.Parallel()
	r, _ := newStandbyRunner(t)
	r.earlyExit = 0
	command := shell("read x; exit 3")
	got, err := prepared(r, command).Run(t.Context(), command, []byte("go\n"))
	if err != nil || got.ExitCode != 3 || len(idleChildren(r)) != 1 {
		t.Errorf("exit code %d, error %v, %d standby processes; want 3, nil, 1", got.ExitCode, err, len(idleChildren(r)))
	}
}

// A standby process is not used after its executable was replaced, even if the executable is looked up in PATH.
func TestStandbyOfReplacedProgram(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ argv, change string }{
		"by another file":           {"DIR/a/fn", `echo "$2" >DIR/new; chmod +x DIR/new; mv DIR/new DIR/a/fn`},
		"in place":                  {"DIR/a/fn", `echo "$2" >DIR/a/fn; touch -d 2001-01-01 DIR/a/fn`},
		"in place, same mtime":      {"DIR/a/fn", `touch -r DIR/a/fn DIR/times; echo "$2" >DIR/a/fn; touch -r DIR/times DIR/a/fn`},
		"by a link":                 {"DIR/a/fn", `echo "$2" >DIR/new; chmod +x DIR/new; ln -sf ../new DIR/a/fn`},
		"by a file earlier in PATH": {"fn", `echo "$2" >DIR/b/fn; chmod +x DIR/b/fn`},
		"relative to Dir":           {"./fn", `echo "$2" >DIR/new; chmod +x DIR/new; mv DIR/new DIR/a/fn`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := newStandbyRunner(t)
			dir := t.TempDir()
			do := func(script string, args ...string) {
				command := shell(strings.ReplaceAll(script, "DIR", dir), args...)
				command.NoStandby = true
				if got, err := r.Run(t.Context(), command, nil); err != nil || got.ExitCode != 0 {
					t.Fatalf("%s, error %v", got.Stderr, err)
				}
			}
			const old, next = "#!/bin/sh\nread x; echo old", "#!/bin/sh\nread x; echo new"
			do(`mkdir DIR/a DIR/b; echo "$1" >DIR/a/fn; chmod +x DIR/a/fn`, old)
			command := Command{
				Argv: []string{strings.ReplaceAll(tc.argv, "DIR", dir)},
				Env:  []string{"PATH=" + dir + "/b:" + dir + "/a:/usr/bin:/bin"}, Dir: dir + "/a",
			}
			call := func(want string) {
				got, err := r.Run(t.Context(), command, []byte("go\n"))
				if err != nil || string(got.Stdout) != want {
					t.Errorf("got %q and error %v, want %q", got.Stdout, err, want)
				}
			}
			prepared(r, command)
			call("old\n")
			idleChildren(r)
			do(tc.change, "", next)
			call("new\n")
			processtest.WaitFor(t, func() bool { return r.StandbyOutcomes()[StandbyReplaced] == 1 })
		})
	}
}

// A command gets standby processes again after its executable is replaced by one that supports them.
func TestStandbyOfRepairedProgram(t *testing.T) {
	t.Parallel()
	r, log := newStandbyRunner(t)
	file := filepath.Join(t.TempDir(), "fn")
	command := Command{Argv: []string{file}, Env: []string{"PATH=/usr/bin:/bin"}}
	for _, tc := range []struct {
		script string
		waits  int
	}{{"echo early; cat", 0}, {"cat", 1}} {
		install := shell(`printf '#!/bin/sh\n%s\n' "$2" >"$1.new"; chmod +x "$1.new"; mv "$1.new" "$1"`, file, tc.script)
		install.NoStandby = true
		if _, err := r.Run(t.Context(), install, nil); err != nil {
			t.Fatal(err)
		}
		// The runner notices that a process wrote only when a call wants to use it.
		processtest.WaitFor(t, func() bool {
			if _, err := prepared(r, command).Run(t.Context(), command, []byte("x")); err != nil {
				t.Fatal(err)
			}
			return len(idleChildren(r)) == tc.waits
		})
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("log has %d lines, want 1: %s", n, log)
	}
}

// Close ends standby processes that no call has used, with all their descendants and files.
func TestStandbyUnused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := NewRunner(Options{ScratchRoot: root, Standby: Standby{Processes: 3}})
	command := shell(`sleep 1000 & echo $! >"$TMPDIR/left"; cat`)
	for range 5 {
		r.Prepare(command)
	}
	var pids []int
	for _, p := range idleChildren(r) {
		pids = append(pids, p.PID())
	}
	if len(pids) != 3 {
		t.Errorf("%d standby processes, want 3", len(pids))
	}
	r.Close()
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("process %d still exists", pid)
		}
	}
	assertEmpty(t, root)
	r.Prepare(command)
	if n := len(idleChildren(r)); n != 0 {
		t.Errorf("%d standby processes after Close, want 0", n)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("%v remains, error %v", left, err)
	}
}
