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

// asServer is an environment variable that makes the test binary call RelaxTimers and print the result.
const asServer = "PROCESS_TEST_SERVER"

func init() {
	if os.Getenv(asServer) != "" {
		relaxAndTell()
	}
}

// relaxAndTell prints the process ID, the arguments, whether the environment is unchanged, and the distinct timer slacks of some
// threads.
func relaxAndTell() {
	RelaxTimers()
	slacks := make(chan time.Duration)
	for range 4 {
		go func() {
			// The thread is not reused for other goroutines.
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
		"another slack": {3 * time.Millisecond, 3 * time.Millisecond},
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

// startWith starts a process whose main thread has the given timer slack.
func startWith(cmd *exec.Cmd, slack time.Duration) error {
	started := make(chan error)
	go func() {
		// The thread exits with the goroutine.
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0); err != nil {
			started <- err
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}
