// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package configfile_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/internal/server/configfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A file is reloaded after a write, and after a change of the link that leads to it, as in a mounted ConfigMap.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	link := func(to, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to, "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, "..tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	link("one", "1")
	if err := os.Symlink("..data/config.yaml", file); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	defer cancel()
	texts, done := make(chan string, 100), make(chan error, 1)
	go func() {
		done <- configfile.Watch(ctx, file, slog.New(slog.DiscardHandler), func() {
			text, _ := os.ReadFile(file)
			texts <- string(text)
		})
	}()
	await := func(want string) {
		t.Helper()
		for {
			select {
			case got := <-texts:
				if got == want {
					return
				}
			case <-ctx.Done():
				t.Fatalf("%q was not read in time", want)
			}
		}
	}
	// The first reload happens without a change, so that changes from before the watch are not missed.
	await("1")
	link("two", "2")
	await("2")
	if err := os.WriteFile(filepath.Join(dir, "new"), []byte("3"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "new"), file); err != nil {
		t.Fatal(err)
	}
	await("3")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestNoDirectory(t *testing.T) {
	t.Parallel()
	err := configfile.Watch(t.Context(), "/does/not/exist/config.yaml", slog.New(slog.DiscardHandler), func() {})
	if err == nil || !strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("Watch() = %v, want an error with the directory", err)
	}
}
