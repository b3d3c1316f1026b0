// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package site

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/krmfn/krmfn/e2e/offline/debian"
	"github.com/krmfn/krmfn/e2e/programs/progress"
)

// names are the names of Chromium's executable in the distributions.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

// browser returns the path of a browser. If none exists, it installs Debian's Chromium, which needs root.
var browser = sync.OnceValues(func() (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	if err := debian.Install(context.Background(), progress.New(os.Stderr), names[0], "chromium", "fonts-dejavu-core"); err != nil {
		return "", fmt.Errorf("the check of the site needs a browser: %w", err)
	}
	return exec.LookPath(names[0])
})

// start prepares a browser without a window, and with an empty profile.
func start(ctx context.Context, t *testing.T, path string, args ...string) *exec.Cmd {
	t.Helper()
	flags := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(),
	}
	cmd := exec.CommandContext(ctx, path, slices.Concat(flags, args)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The browser's processes write to its profile, which the test deletes after they have ended.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	t.Cleanup(func() {
		if cmd.Process == nil {
			return
		}
		for range 500 {
			if syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	return cmd
}
