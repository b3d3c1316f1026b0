// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// Somebody edits, deletes and chmods files while a package is rendered: each file is as it was, as it was edited, or rendered, and
// the exit code says which.
func TestRenderAmongEdits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			e := newEditor(t, seed)
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				// A few edits, or edits up to the end.
				for range 1 << seed {
					select {
					case <-stop:
						return
					default:
						e.edit()
					}
				}
			}()
			o := krmfn(t, "render", e.dir, "--no-status")
			close(stop)
			<-stopped
			e.check(o)
		})
	}
}

// editor edits the files of a package.
type editor struct {
	t    *testing.T
	dir  string
	rand *rand.Rand
	// versions are the contents that each file has had.
	versions map[string][]string
}

func newEditor(t *testing.T, seed uint64) *editor {
	t.Helper()
	files := map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n" +
		"pipeline:\n  mutators:\n    - image: set-annotations\n      configMap: {env: prod}\n      exclude: [{kind: Kptfile}]\n"}
	e := &editor{t: t, rand: rand.New(rand.NewPCG(seed, 0)), versions: map[string][]string{}}
	for i := range 20 {
		name := fmt.Sprintf("dir-%d/file-%d.yaml", i%3, i)
		files[name] = edited(name, 0)
		e.versions[name] = []string{files[name]}
	}
	e.dir = newPackage(t, files)
	return e
}

func edited(name string, version int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %q\ndata:\n  version: \"%d\"\n", name, version)
}

// annotated returns what the function makes of a text.
func annotated(text string) string {
	return strings.Replace(text, "\ndata:", "\n  annotations:\n    env: prod\ndata:", 1)
}

// edit changes one file. Most of them are left alone.
func (e *editor) edit() {
	name := fmt.Sprintf("dir-%d/file-%d.yaml", 0, 3*e.rand.IntN(4))
	file := filepath.Join(e.dir, name)
	var err error
	switch e.rand.IntN(4) {
	case 0:
		err = os.Remove(file)
	case 1:
		err = os.Chmod(file, []fs.FileMode{0o444, 0o600}[e.rand.IntN(2)])
	default:
		text := edited(name, len(e.versions[name]))
		e.versions[name] = append(e.versions[name], text)
		err = errors.Join(os.WriteFile(file+"~", []byte(text), 0o600), os.Rename(file+"~", file))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.t.Error(err)
	}
}

func (e *editor) check(o outcome) {
	e.t.Helper()
	after := snapshot(e.t, e.dir)
	for name, versions := range e.versions {
		last, text := versions[len(versions)-1], after[name]
		switch {
		case strings.HasPrefix(name, "dir-0/"):
			if text != "" && text != last && text != annotated(last) {
				e.t.Errorf("%s is not as it was edited last, in version %d:\n%s", name, len(versions)-1, text)
			}
		case o.code == failure.OK && text != annotated(last), o.code == failure.Failed && text != last, text != last && text != annotated(last):
			e.t.Errorf("exit code %d, but %s is\n%s", o.code, name, text)
		}
	}
	for name := range after {
		if strings.Contains(name, ".krmfn-") {
			e.t.Errorf("%s is left", name)
		}
	}
}
