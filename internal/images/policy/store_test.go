// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/internal/images/policy"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// NewStore fails without a valid policy. Later, an invalid file has no effect, and its problem is logged once.
func TestStore(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	for _, text := range []string{"", head + "allow: no\n"} {
		if text != "" {
			write(t, file, text)
		}
		if _, err := policy.NewStore(file, nil, logger); err == nil || !strings.Contains(err.Error(), file) {
			t.Fatalf("NewStore() with %q = %v, want an error", text, err)
		}
	}
	write(t, file, head+"allow: []\n")
	s, err := policy.NewStore(file, nil, logger)
	if err != nil {
		t.Fatal(err)
	}
	load := func(want, permitted bool, logged string, times int) {
		t.Helper()
		if got, _ := s.Load(); got != want {
			t.Errorf("Load() = %v, want %v", got, want)
		}
		if err := s.Policy().Refused("r.io/x"); (err == nil) != permitted {
			t.Errorf("r.io/x: %v", err)
		}
		if n := strings.Count(log.String(), logged); n != times {
			t.Errorf("%q was logged %d times, want %d:\n%s", logged, n, times, &log)
		}
	}
	load(false, false, "image policy loaded", 1)
	write(t, file, head+"allow: [{prefix: r.io}]\n")
	load(true, true, "image policy loaded", 2)
	write(t, file, head+"# the same\nallow: [{prefix: r.io/}]\n")
	load(false, true, "image policy loaded", 2)
	write(t, file, head+"alow: []\n")
	load(false, true, "alow", 1)
	load(false, true, "alow", 1)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	load(false, true, "no such file", 1)
	write(t, file, head+"alow: []\n")
	// A problem that returns is logged again.
	load(false, true, "alow", 2)
	write(t, file, head+"allow: []\n")
	load(true, false, "image policy loaded", 3)
}
