// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package binarytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// maxGrowth is the percentage by which a program may exceed its recorded size.
const maxGrowth = 5

// Size fails the test if a program is more than 5 percent larger than its recorded size in bytes on linux/amd64. target is a
// target of the Makefile, such as build/krmfn. Size builds the program only if it is not in bin/ yet. On other platforms, the
// test is skipped.
func Size(t *testing.T, target string, recorded int64) {
	t.Helper()
	if platform := runtime.GOOS + "/" + runtime.GOARCH; platform != "linux/amd64" {
		t.Skipf("the recorded size is for linux/amd64, not %s", platform)
	}
	root := root(t)
	if out, err := exec.CommandContext(t.Context(), "make", "-C", root, target).CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, out)
	}
	info, err := os.Stat(filepath.Join(root, "bin", filepath.Base(target)))
	if err != nil {
		t.Fatal(err)
	}
	if most := recorded + recorded*maxGrowth/100; info.Size() > most {
		t.Errorf("%s has %d bytes, want at most %d (the recorded size plus %d %%): find out what it links, or record the new size",
			target, info.Size(), most, maxGrowth)
	}
}

// root returns the repository's root folder, which contains the Makefile and go.work.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no folder above the test contains go.work")
		}
	}
}
