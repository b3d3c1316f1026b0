// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Reaping concerns a whole process, so the test runs itself as one that does nothing else.
func TestReapCollectsOrphans(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	if os.Getenv("KRMFN_TEST_REAPER") != "" {
		reapOrphans(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReapCollectsOrphans$")
	cmd.Env = append(os.Environ(), "KRMFN_TEST_REAPER=1", "KRMFN_TEST_PIDS="+pids)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := len(readPIDs(t, pids)); n != 2 {
		t.Fatalf("%d orphans were made, want 2", n)
	}
}

// reapOrphans makes an orphan that has ended and one that means to stay, both out of their group, and waits until the
// reaper has left no child of this process.
func reapOrphans(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runner := NewRunner(Limits{}, t.TempDir())
	done := make(chan error, 1)
	go func() { done <- runner.Reap(ctx) }()
	pids := os.Getenv("KRMFN_TEST_PIDS")
	script := `
setsid sh -c 'echo $$ >>"$1"' sh "$1" &
setsid sh -c 'echo $$ >>"$1"; exec sleep 1000' sh "$1" >/dev/null 2>&1 &
while [ "$(wc -l <"$1" 2>/dev/null || echo 0)" -lt 2 ]; do :; done`
	if _, err := runner.Run(ctx, shell(script, pids), nil); err != nil {
		t.Error(err)
	}
	waitFor(t, func() bool { return len(children()) == 0 })
	for _, pid := range readPIDs(t, pids) {
		if !dead(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestEnvironments(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "LC_ALL=C", "AWS_SECRET_ACCESS_KEY=x", "OTEL_TRACES_EXPORTER=none", "TMPDIR=/t", "FOO=bar"}
	tests := map[string]struct {
		got  []string
		want string
	}{
		"of a runner": {got: RunnerEnvironment(environ), want: "PATH=/bin LC_ALL=C"},
		"of an image": {got: ImageEnvironment(environ), want: "PATH=/bin LC_ALL=C AWS_SECRET_ACCESS_KEY=x FOO=bar"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			for i, kv := range tc.got {
				if i > 0 {
					got.WriteByte(' ')
				}
				got.WriteString(kv)
			}
			if got.String() != tc.want {
				t.Errorf("got %q, want %q", got.String(), tc.want)
			}
		})
	}
}
