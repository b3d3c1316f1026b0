// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/cluster/podcacheconfig"
	"github.com/krmfn/krmfn/services/images/reference"
)

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Settings are found by resolved references, an invalid file keeps the current settings, and each problem is logged once.
func TestSettingsFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "settings.yaml")
	var log bytes.Buffer
	s := newSettingsFile(file, func(name string) (string, error) { return reference.Resolve(name, "r.io") }, slog.New(slog.NewTextHandler(&log, nil)))
	load := func(want bool, logged string, times int) {
		t.Helper()
		if got, _ := s.Load(); got != want {
			t.Errorf("Load() = %v, want %v", got, want)
		}
		if n := strings.Count(log.String(), logged); n != times {
			t.Errorf("%q was logged %d times, want %d, in:\n%s", logged, n, times, &log)
		}
	}
	load(false, "the file does not exist", 1)
	load(false, "the file does not exist", 1)
	writeFile(t, file, "- name: a:v1\n  maxParallelPodsPerFunction: 3\n- name: other.io/b\n  minWarmPods: 1\n  foo: bar\n")
	load(true, "foo", 1)
	load(false, "foo", 1)
	if got := s.For("r.io/a:v1").MaxPods; got != 3 {
		t.Errorf("MaxPods = %d, want 3", got)
	}
	if diff := cmp.Diff(podcacheconfig.Settings{}, s.For("a:v1")); diff != "" {
		t.Errorf("settings of an unresolved name (-want +got):\n%s", diff)
	}
	warm := s.All(func(s podcacheconfig.Settings) bool { return s.MinPods > 0 })
	if diff := cmp.Diff([]string{"other.io/b"}, warm); diff != "" {
		t.Errorf("All() with MinPods (-want +got):\n%s", diff)
	}
	all := s.All(func(podcacheconfig.Settings) bool { return true })
	if diff := cmp.Diff([]string{"other.io/b", "r.io/a:v1"}, all); diff != "" {
		t.Errorf("All() (-want +got):\n%s", diff)
	}
	writeFile(t, file, "- name: [")
	load(false, "line 1", 1)
	if got := s.For("r.io/a:v1").MaxPods; got != 3 {
		t.Errorf("MaxPods after an invalid file = %d, want 3", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	// A problem that occurs again after a change is logged again.
	load(false, "the file does not exist", 2)
	writeFile(t, file, "")
	load(true, "settings loaded", 2)
	if got := s.For("r.io/a:v1").MaxPods; got != 0 {
		t.Errorf("MaxPods after the entry was removed = %d, want 0", got)
	}
}
