// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asServer has the test binary relax its timers and tell what it has then.
const asServer = "PROCESS_TEST_SERVER"

func init() {
	if os.Getenv(asServer) != "" {
		relaxAndTell()
	}
}

// relaxAndTell tells its process, its arguments, whether its environment is as it was, and the slack of some of its threads.
func relaxAndTell() {
	RelaxTimers()
	slacks := make(chan time.Duration)
	for range 4 {
		go func() {
			// Nobody else gets the thread.
			runtime.LockOSThread()
			slacks <- slack()
		}()
	}
	all := []time.Duration{slack(), <-slacks, <-slacks, <-slacks, <-slacks}
	fmt.Println(os.Getpid(), os.Args[1:], !slices.Contains(os.Environ(), relaxed), slices.Compact(all))
	os.Exit(0)
}

func TestRelaxTimers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, want time.Duration }{
		"the default":   {defaultSlack, timerSlack},
		"one of others": {3 * time.Millisecond, 3 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "some", "arguments")
			cmd.Env = []string{asServer + "=1"}
			var out strings.Builder
			cmd.Stdout = &out
			if err := startWith(cmd, test.before); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("%d [some arguments] true [%v]\n", cmd.Process.Pid, test.want); out.String() != want {
				t.Errorf("got %q, want %q", out.String(), want)
			}
		})
	}
}

// startWith starts a process with a timer slack.
func startWith(cmd *exec.Cmd, slack time.Duration) error {
	started := make(chan error)
	go func() {
		// The thread ends with the goroutine.
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0); err != nil {
			started <- err
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}
