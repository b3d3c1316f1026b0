// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/internal/process/programtest"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/services/render/packages"
)

// editing makes a package whose second function does something to it, as somebody else may while functions run.
func editing(t *testing.T, script string) (dir string, before map[string]string) {
	t.Helper()
	function := filepath.Join(t.TempDir(), "function.sh")
	kf := strings.Replace(kptfile, "  validators:\n", "    - exec: "+function+"\n  validators:\n", 1)
	dir = newPackage(t, map[string]string{"Kptfile": kf})
	programtest.Write(t, function, "#!/bin/sh\ncd "+dir+"\n"+script+"\nexec cat\n")
	return dir, snapshot(t, dir)
}

// What changes while functions run is not overwritten: the command says so, and writes nothing.
func TestRenderChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script, changed, want string
	}{
		"a file":                  {"echo '# edited' >> web.yaml", "web.yaml", "web.yaml changed since it was read"},
		"the Kptfile":             {"echo '# edited' >> Kptfile", "Kptfile", "Kptfile changed since it was read"},
		"a deletion":              {"rm net/service.yaml", "net/service.yaml", "net/service.yaml changed since it was read: it has been deleted"},
		"a file without resource": {"echo edited >> README.md", "README.md", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, before := editing(t, tc.script)
			o := krmfn(t, "render", dir, "--allow-exec")
			if tc.want == "" {
				if o.ok(t); snapshot(t, dir)["README.md"] == before["README.md"] {
					t.Error("the file is as it was")
				}
				return
			}
			if want := "error: failed to save resources: " + filepath.Join(dir, tc.want) + ": nothing was written, run the command again\n"; o.code != failure.Failed || !strings.HasSuffix(o.err, want) {
				t.Errorf("exit code %d, standard error:\n%s", o.code, o.err)
			}
			unchanged(t, dir, before, tc.changed)
			after, existed := snapshot(t, dir)[tc.changed]
			if existed == strings.HasPrefix(tc.script, "rm") || existed && after != before[tc.changed]+"# edited\n" {
				t.Errorf("%s is\n%s", tc.changed, after)
			}
		})
	}
}

// One of two that change a directory at once is told before functions run. Who writes nothing to it need not wait.
func TestLockedDirectory(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	other, err := packages.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir)
	for _, args := range [][]string{{"render", dir}, {"eval", "--image", "set-labels", dir, "--", "a=b"}} {
		if o := krmfn(t, args...); o.code != failure.Failed || o.err != "error: "+dir+" is being changed by another krmfn: wait until it has ended\n" {
			t.Errorf("%q: exit code %d, standard error:\n%s", args, o.code, o.err)
		}
	}
	unchanged(t, dir, before)
	krmfn(t, "render", dir, "--dry-run").ok(t)
	krmfn(t, "render", dir, "-o", filepath.Join(t.TempDir(), "out")).ok(t)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	krmfn(t, "render", dir).ok(t)
}

// An output that cannot be written leaves no directory.
func TestOutputDirectoryFails(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("x", 300) + ".yaml"
	item := "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {config.kubernetes.io/path: %s}}}\n"
	list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + fmt.Sprintf(item+item+item, "a.yaml", "sub/b.yaml", name)
	dir := t.TempDir()
	call := invocation{args: []string{"eval", "-", "--image", "set-labels", "-o", filepath.Join(dir, "new/out"), "--", "a=b"}, stdin: list}
	if o := call.run(t.Context(), t); o.code != failure.Failed || !strings.Contains(o.err, name+": file name too long") {
		t.Errorf("exit code %d, standard error:\n%s", o.code, o.err)
	}
	unchanged(t, dir, map[string]string{})
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v is left; %v", entries, err)
	}
}
