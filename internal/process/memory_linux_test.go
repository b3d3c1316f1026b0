// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A process has its memory limits before it gets its input, and cannot exceed them.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	// The shell keeps the bytes in a variable, so its memory limits their number.
	const fill = `read x; x=$(head -c "$1" /dev/zero | tr '\0' a); echo "${#x} $GOMEMLIMIT $(ulimit -d)"`
	const share = 8 << 20
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &own); err != nil {
		t.Fatal(err)
	}
	unlimited := "unlimited"
	if own.Cur != unix.RLIM_INFINITY {
		unlimited = strconv.FormatUint(own.Cur>>10, 10)
	}
	withAndWithoutStandby(t, func(t *testing.T, standby Standby) {
		for name, tc := range map[string]struct {
			limit int64
			env   string
			bytes string
			want  string
		}{
			"no limit":          {bytes: "1000", want: "1000  " + unlimited + "\n"},
			"limit":             {limit: share, bytes: "1000", want: "1000 8388608 147456\n"},
			"own GOMEMLIMIT":    {limit: share, env: "GOMEMLIMIT=5MiB", bytes: "1000", want: "1000 5MiB 147456\n"},
			"exceeds the limit": {limit: share, bytes: "200000000"},
			"large, no limit":   {bytes: "20000000", want: "20000000  " + unlimited + "\n"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				command := shell(fill, tc.bytes)
				command.MemoryLimit = tc.limit
				if tc.env != "" {
					command.Env = append(command.Env, tc.env)
				}
				runner := NewRunner(Options{ScratchRoot: t.TempDir(), Standby: standby})
				defer runner.Close()
				got, err := prepared(runner, command).Run(t.Context(), command, []byte("go\n"))
				if err != nil || string(got.Stdout) != tc.want || (got.ExitCode == 0) != (tc.want != "") {
					t.Errorf("stdout = %q, exit code %d, stderr %q, error %v; want stdout %q", got.Stdout, got.ExitCode, got.Stderr, err, tc.want)
				}
			})
		}
	})
}

// Processes that the command started before its limit could be set have the limit, too, before the input arrives.
func TestMemoryLimitOfChildren(t *testing.T) {
	t.Parallel()
	withAndWithoutStandby(t, func(t *testing.T, standby Standby) {
		runner := NewRunner(Options{ScratchRoot: t.TempDir(), Standby: standby})
		defer runner.Close()
		command := shell("sh -c 'read x; ulimit -d'; true")
		command.MaxData = 1 << 30
		for range 50 {
			got, err := prepared(runner, command).Run(t.Context(), command, []byte("go\n"))
			if err != nil || string(got.Stdout) != "1048576\n" {
				t.Fatalf("ulimit -d of a child = %q KiB, error %v; want 1048576", got.Stdout, err)
			}
		}
	})
}
