// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/images/metadata"
	"github.com/krmfn/krmfn/internal/images/registry"
)

// known is a fake cache.
type known struct {
	mu             sync.Mutex
	loaded, images []registry.Image
}

func (k *known) Load(images []registry.Image) { k.loaded = images }

func (k *known) Images() []registry.Image {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.images
}

func (k *known) learn(images ...registry.Image) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.images = append(k.images, images...)
}

func image(name, digit string) registry.Image {
	return registry.Image{Reference: "r.io/" + name, Digest: "sha256:" + strings.Repeat(digit, 64), Command: []string{"/fn"}}
}

func writeMetadata(t *testing.T, name string, images ...registry.Image) {
	t.Helper()
	content, err := metadata.Format(images)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantLoaded(t *testing.T, k *known, want ...registry.Image) {
	t.Helper()
	if diff := cmp.Diff(want, k.loaded); diff != "" {
		t.Errorf("loaded images (-want +got):\n%s", diff)
	}
}

func TestWarmed(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	k, name := &known{}, filepath.Join(t.TempDir(), "known.yaml")
	w := newWarmedImages(name, k, slog.New(slog.NewTextHandler(&text, nil)), image("kept", "a"))
	load := func(changed, ok bool) {
		t.Helper()
		if got, err := w.Load(); got != changed || (err == nil) != ok {
			t.Errorf("Load() = %v, %v, want %v and an error: %v", got, err, changed, !ok)
		}
	}
	load(false, true)
	wantLoaded(t, k)
	writeMetadata(t, name, image("one", "a"))
	load(true, true)
	wantLoaded(t, k, image("kept", "a"), image("one", "a"))
	k.loaded = nil
	load(false, true)
	wantLoaded(t, k)
	// An invalid file does not change the images, and is logged once.
	for range 2 {
		if err := os.WriteFile(name, []byte("images: ["), 0o600); err != nil {
			t.Fatal(err)
		}
		load(false, false)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	load(false, true)
	wantLoaded(t, k)
	writeMetadata(t, name, image("one", "b"))
	load(true, true)
	wantLoaded(t, k, image("kept", "a"), image("one", "b"))
	if got := text.String(); strings.Count(got, "cannot be used") != 1 || strings.Count(got, "loaded") != 2 || !strings.Contains(got, name) {
		t.Errorf("log = %s, want one warning and two loads", got)
	}
}

func TestKept(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "kept.yaml")
	synctest.Test(t, func(t *testing.T) {
		k := &known{}
		kept := newKeptImages(name, k, slog.New(slog.DiscardHandler))
		if got := kept.Load(); got != nil {
			t.Errorf("Load() without a file = %v, want nil", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			kept.Run(ctx)
		}()
		time.Sleep(keepInterval + time.Second)
		synctest.Wait()
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("Stat() of the file without images: error = %v, want that it does not exist", err)
		}
		k.learn(image("one", "a"))
		time.Sleep(keepInterval)
		synctest.Wait()
		wantContent(t, name, image("one", "a"))
		k.learn(image("two", "b"))
		cancel()
		<-ended
		wantContent(t, name, image("one", "a"), image("two", "b"))
	})
	if left, err := filepath.Glob(name + ".*"); err != nil || left != nil {
		t.Errorf("temporary files = %v, %v, want none", left, err)
	}
}

func wantContent(t *testing.T, name string, want ...registry.Image) {
	t.Helper()
	k := &known{}
	got := newKeptImages(name, k, slog.New(slog.DiscardHandler)).Load()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Load() (-want +got):\n%s", diff)
	}
	wantLoaded(t, k, want...)
}

// A directory that is not writable is logged once.
func TestKeptNowhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		k := &known{images: []registry.Image{image("one", "a")}}
		kept := newKeptImages("/does/not/exist/kept.yaml", k, slog.New(slog.NewTextHandler(&text, nil)))
		ctx, cancel := context.WithTimeout(t.Context(), 10*keepInterval)
		defer cancel()
		kept.Run(ctx)
		if got := text.String(); strings.Count(got, "cannot be kept") != 1 {
			t.Errorf("log = %s, want one warning", got)
		}
	})
}
