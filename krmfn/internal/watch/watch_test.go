// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/krmfn/internal/watch"
	"github.com/krmfn/krmfn/services/render/packages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a directory with a watcher, and what the test knows of its files.
type watched struct {
	dir     string
	watcher *watch.Watcher
	known   watch.Files
}

func newWatched(t *testing.T, files ...string) *watched {
	t.Helper()
	w := &watched{dir: t.TempDir()}
	for _, name := range files {
		w.write(t, name, "before\n")
	}
	var err error
	if w.watcher, err = watch.New(w.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.watcher.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.known, err = w.watcher.Files(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watched) write(t *testing.T, name, content string) {
	t.Helper()
	file := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// changed waits for changes, with act being done while it does.
func (w *watched) changed(t *testing.T, act func()) []string {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		act()
	}()
	changed, err := w.watcher.Wait(t.Context(), w.known)
	<-done
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func TestWait(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		act  func(*testing.T, *watched)
		want []string
	}{
		"a file changes":   {func(t *testing.T, w *watched) { w.write(t, "a", "after\n") }, []string{"a"}},
		"a file comes":     {func(t *testing.T, w *watched) { w.write(t, "c", "") }, []string{"c"}},
		"below":            {func(t *testing.T, w *watched) { w.write(t, "sub/b", "after\n") }, []string{"sub/b"}},
		"a directory":      {func(t *testing.T, w *watched) { w.write(t, "new/below/x", "x") }, []string{"new/below/x"}},
		"a file goes":      {func(_ *testing.T, w *watched) { _ = os.Remove(filepath.Join(w.dir, "a")) }, []string{"a"}},
		"a directory goes": {func(_ *testing.T, w *watched) { _ = os.RemoveAll(filepath.Join(w.dir, "sub")) }, []string{"sub/b"}},
		"an editor's way": {func(t *testing.T, w *watched) {
			w.write(t, ".a.swp", "after\n")
			_ = os.Rename(filepath.Join(w.dir, ".a.swp"), filepath.Join(w.dir, "a"))
		}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatched(t, "a", "sub/b")
			got := w.changed(t, func() { tc.act(t, w) })
			// Wait may look between two steps of the change; then the next look has the rest.
			for len(got) > 0 && got[len(got)-1] != tc.want[0] {
				got = w.changed(t, func() {})
			}
			if diff := cmp.Diff(tc.want[0], got[len(got)-1]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Neither what is git's, nor what has the same content, nor what the owner has written is a change.
func TestNoChange(t *testing.T) {
	t.Parallel()
	w := newWatched(t, "a", "b", "c")
	w.write(t, "a", "before\n")
	w.write(t, ".git/index", "x")
	w.write(t, "b", "written\n")
	w.write(t, "new", "written\n")
	if err := os.Remove(filepath.Join(w.dir, "c")); err != nil {
		t.Fatal(err)
	}
	w.watcher.Written(w.known, []packages.Change{
		{Path: "b", After: []byte("written\n")},
		{Path: "new", After: []byte("written\n")},
		{Path: "c", Before: []byte("before\n")},
		// Others have changed these, or they were not written.
		{Path: "a", After: []byte("not written\n")},
		{Path: "gone", After: []byte("not there\n")},
	})
	// The one thing that is a change comes alone.
	if diff := cmp.Diff([]string{"last"}, w.changed(t, func() { w.write(t, "last", "x") })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	w := newWatched(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if changed, err := w.watcher.Wait(ctx, w.known); changed != nil || err != nil {
		t.Errorf("got %v, %v", changed, err)
	}
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := w.watcher.Wait(t.Context(), w.known); err == nil {
		t.Error("a directory that is gone is watched")
	}
	if _, err := watch.New(filepath.Join(w.dir, "none")); err == nil {
		t.Error("a directory that is not there is watched")
	}
}
