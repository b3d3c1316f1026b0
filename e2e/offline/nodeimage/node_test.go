// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestContainerdConfig(t *testing.T) {
	t.Parallel()
	const in = `version = 2
  # sandbox_image = is a comment here
  sandbox_image = "registry.k8s.io/pause:3.10"
  restrict_oom_score_adj = false
`
	const want = `version = 2
  # sandbox_image = is a comment here
  sandbox_image = "pause:9"
  restrict_oom_score_adj = true
`
	got, err := containerdConfig(in, "pause:9")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("containerdConfig() (-want +got):\n%s", diff)
	}
	if _, err := containerdConfig(`sandbox_image = "a"`, "b"); err == nil {
		t.Error("containerdConfig() without restrict_oom_score_adj succeeded, want an error")
	}
}

func TestContainerSpec(t *testing.T) {
	t.Parallel()
	got, err := containerSpec([]byte(`{"process":{"args":["sh"],"rlimits":[{"type":"RLIMIT_NOFILE"}]},"root":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"hooks":{"createContainer":[{"path":"/kind/bin/mount-product-files.sh"}]},"process":{"args":["sh"]},"root":{}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("containerSpec() (-want +got):\n%s", diff)
	}
	if _, err := containerSpec([]byte(`{}`)); err == nil {
		t.Error("containerSpec() without a process succeeded, want an error")
	}
}

func TestOverlaySetsModes(t *testing.T) {
	t.Parallel()
	b := &builder{root: t.TempDir()}
	if err := os.WriteFile(b.path("text"), []byte("former"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := b.overlay(fstest.MapFS{
		"text":             {Data: []byte("a"), Mode: 0o444},
		"usr/bin/program":  {Data: []byte("b"), Mode: 0o444},
		"usr/share/readme": {Data: []byte("c"), Mode: 0o444},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"text": 0o644, "usr/bin/program": 0o755, "usr/share/readme": 0o644} {
		info, err := os.Stat(b.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("mode of %s = %o, want %o", name, info.Mode().Perm(), want)
		}
	}
}

func TestUnits(t *testing.T) {
	t.Parallel()
	b := &builder{root: t.TempDir()}
	const unwanted = "lib/systemd/system/sockets.target.wants/systemd-udevd.socket"
	if err := writeFile(b.path(unwanted), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := b.units(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.path(unwanted)); err == nil {
		t.Errorf("%s still exists", unwanted)
	}
	got, err := filepath.Glob(b.path("etc/systemd/system/multi-user.target.wants/*"))
	if err != nil || len(got) != len(wanted) {
		t.Errorf("enabled units = %v, %v, want %v", got, err, wanted)
	}
}
