// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// timerSlack is how late timers may be, and defaultSlack is the system's default; see timer_slack in prctl(2).
	timerSlack, defaultSlack = 2 * time.Millisecond, 50 * time.Microsecond
	// relaxed is in the environment of a program that RelaxTimers has started anew, so that it does so only once.
	relaxed = "KRMFN_TIMERS_RELAXED=1"
)

// RelaxTimers lets timers of this process, and of the processes that it starts, expire up to two milliseconds late. In every Go process
// the runtime's monitor thread wakes up every 20 microseconds while there is work. With short functions, this thread takes a quarter
// of a server's CPU time, and a sixth of its functions'.
//
// Threads inherit their slack from the thread that starts them. RelaxTimers therefore executes the program anew, with the same process
// ID, arguments and files. It leaves a timer slack alone that is not the system's default. Call it first in main functions.
func RelaxTimers() {
	environ := os.Environ()
	if slices.Contains(environ, relaxed) {
		_ = os.Unsetenv("KRMFN_TIMERS_RELAXED")
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if slack() != defaultSlack || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0) != nil || slack() != timerSlack {
		return
	}
	if executable, err := os.Executable(); err == nil {
		// It returns only where it fails, and then nothing is lost.
		_ = syscall.Exec(executable, os.Args, append(environ, relaxed))
	}
}

// slack is that of this thread.
func slack() time.Duration {
	now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return 0
	}
	return time.Duration(now)
}
