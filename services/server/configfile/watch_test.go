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

	"github.com/krmfn/krmfn/services/server/configfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A file that is written, and one that a link in its directory leads to as in a mounted ConfigMap, is read again.
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
				t.Fatalf("%q was never read", want)
			}
		}
	}
	// Once without a change, so that none is missed that came before the watch.
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
		t.Errorf("got error %v", err)
	}
}
