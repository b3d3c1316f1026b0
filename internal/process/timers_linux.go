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
	// timerSlack is how late timers may expire. defaultSlack is the kernel's default. See PR_SET_TIMERSLACK in prctl(2).
	timerSlack, defaultSlack = 2 * time.Millisecond, 50 * time.Microsecond
	// relaxed marks the environment of a program that RelaxTimers has executed, so that it executes the program only once.
	relaxed = "KRMFN_TIMERS_RELAXED=1"
)

// RelaxTimers lets timers of this process and its children expire up to two milliseconds late. In every Go process, the runtime's
// monitor thread wakes up every 20 microseconds while goroutines run. With short functions, this thread uses a quarter of a server's
// CPU time, and a sixth of its functions'.
//
// A thread inherits its timer slack from the thread that creates it. RelaxTimers therefore executes the program again, with the same
// process ID, arguments and open files. It does nothing if the timer slack is not the kernel's default. Call it first in main
// functions.
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
		// Exec returns only if it fails. The process then keeps the default slack on its other threads.
		_ = syscall.Exec(executable, os.Args, append(environ, relaxed))
	}
}

// slack returns the timer slack of the current thread, or 0 if the kernel does not report it.
func slack() time.Duration {
	now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return 0
	}
	return time.Duration(now)
}
