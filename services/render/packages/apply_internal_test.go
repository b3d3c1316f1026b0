// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The files of a directory before and after it is changed. What is "" is not there.
var (
	filesBefore = map[string]string{"a.yaml": "a old", "b.yaml": "b old", "gone.yaml": "gone old", "sub/c.yaml": "c old", "read.yaml": "only read"}
	filesAfter  = map[string]string{"a.yaml": "a new, longer", "b.yaml": "b", "gone.yaml": "", "sub/c.yaml": "c new", "new/d.yaml": "d new"}
)

// moments are all steps at which something can happen to Apply, with the file that it is at.
func moments() []string {
	var list []string
	for _, p := range slices.Sorted(maps.Keys(filesAfter)) {
		steps := []string{"read", "create", "write", "exchange", "overwrite", "remove"}
		switch {
		case filesAfter[p] == "":
			steps = []string{"read", "rename", "remove"}
		case filesBefore[p] == "":
			steps = []string{"create", "write", "rename"}
		}
		for _, step := range steps {
			list = append(list, step+" "+p)
		}
	}
	return list
}

// failures are what the system may answer.
var failures = map[string]error{
	"no space": syscall.ENOSPC, "not allowed": syscall.EACCES, "busy": syscall.EBUSY, "unsupported": syscall.EINVAL,
}

// incidents are changes of a file by somebody else.
var incidents = map[string]func(*world, string) error{
	"edit": func(w *world, p string) error { w.write(p, strings.Repeat("E", len(filesBefore[p])+1)); return nil },
	"edit in place, as long as it was": func(w *world, p string) error {
		w.write(p, strings.Repeat("I", max(1, len(filesBefore[p]))))
		return nil
	},
	"replaced": func(w *world, p string) error {
		w.write(p+"~", strings.Repeat("R", max(1, len(filesBefore[p]))))
		w.check(os.Rename(filepath.Join(w.dir, p+"~"), filepath.Join(w.dir, p)))
		w.theirs[p] = w.theirs[p+"~"]
		delete(w.theirs, p+"~")
		delete(w.modes, p)
		return nil
	},
	"deleted": func(w *world, p string) error {
		if err := os.Remove(filepath.Join(w.dir, p)); !errors.Is(err, fs.ErrNotExist) {
			w.check(err)
			w.theirs[p] = ""
			delete(w.modes, p)
		}
		return nil
	},
	"replaced by a link": func(w *world, p string) error {
		content, err := os.ReadFile(filepath.Join(w.dir, p))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		w.check(err)
		w.write(p+"~", string(content))
		w.check(os.Symlink(filepath.Base(p)+"~", filepath.Join(w.dir, p+"~~")))
		w.check(os.Rename(filepath.Join(w.dir, p+"~~"), filepath.Join(w.dir, p)))
		w.theirs[p] = string(content)
		delete(w.modes, p)
		return nil
	},
	"chmod": func(w *world, p string) error {
		if err := os.Chmod(filepath.Join(w.dir, p), 0o604); !errors.Is(err, fs.ErrNotExist) {
			w.check(err)
			w.modes[p] = 0o604
		}
		return nil
	},
}

// takesTwoSteps are what finds a file first, and changes it then. Apply goes through directories in parallel, so that in another
// one it may be anywhere between the two.
var takesTwoSteps = map[string]bool{"edit": true, "edit in place, as long as it was": true, "chmod": true}

// event is an incident that happens once, at a moment, to a file.
type event struct{ moment, incident, file string }

// world is a directory that Apply changes while others do.
type world struct {
	t   fataler
	dir string
	mu  sync.Mutex
	// theirs are the files as somebody else has left them, modes the modes that somebody else has given files.
	theirs map[string]string
	modes  map[string]fs.FileMode
}

type fataler interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(p, content string) {
	file := filepath.Join(w.dir, p)
	w.check(os.MkdirAll(filepath.Dir(file), 0o755))
	w.check(os.WriteFile(file, []byte(content), 0o600))
	w.theirs[p] = content
}

// files returns all files, and the directories that have none as "dir/".
func (w *world) files() map[string]string {
	files := map[string]string{}
	w.check(filepath.WalkDir(w.dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(w.dir, file)
		if entry.IsDir() {
			files[rel+"/"] = ""
			return nil
		}
		content, err := os.ReadFile(file)
		files[rel] = string(content)
		delete(files, filepath.Dir(rel)+"/")
		return err
	}))
	delete(files, "./")
	return files
}

// applyDuring applies the changes while the events happen, and checks what is left: nothing that somebody else did is lost,
// all is done or nothing, and the error says which.
func applyDuring(t fataler, dir string, events []event) {
	t.Helper()
	w := &world{t: t, dir: dir, theirs: map[string]string{}, modes: map[string]fs.FileMode{}}
	for p, content := range filesBefore {
		w.write(p, content)
		old := time.Now().Add(-time.Hour)
		w.check(os.Chtimes(filepath.Join(dir, p), old, old))
	}
	clear(w.theirs)
	d, err := OpenDir(dir)
	w.check(err)
	defer func() { w.check(d.Close()) }()
	var changes []Change
	for _, p := range slices.Sorted(maps.Keys(filesBefore)) {
		before, err := d.ReadFile(p)
		w.check(err)
		if after, ok := filesAfter[p]; ok {
			c := Change{Path: p, Before: before}
			if after != "" {
				c.After = []byte(after)
			}
			changes = append(changes, c)
		}
	}
	changes = append(changes, Change{Path: "new/d.yaml", After: []byte(filesAfter["new/d.yaml"])})
	noRemoval := false
	d.intercept = func(step, p string) (err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		events = slices.DeleteFunc(events, func(e event) bool {
			if e.moment != step+" "+p {
				return false
			}
			if failure, ok := failures[e.incident]; ok {
				err = errors.Join(err, failure)
				return true
			}
			incident := incidents[e.incident]
			if filepath.Dir(e.file) != filepath.Dir(p) && takesTwoSteps[e.incident] {
				incident = incidents["replaced"]
			}
			err = errors.Join(err, incident(w, e.file))
			return true
		})
		noRemoval = noRemoval || err != nil && step == "remove"
		return err
	}
	err = d.Apply(changes)
	w.verify(err, noRemoval)
}

func (w *world) verify(err error, noRemoval bool) {
	w.t.Helper()
	left := w.files()
	var written []string
	partial, isPartial := errors.AsType[*PartialError](err)
	if isPartial {
		written = partial.Written
	}
	for _, p := range append(slices.Sorted(maps.Keys(filesAfter)), "read.yaml") {
		content := left[p]
		theirs, changed := w.theirs[p]
		after, isChange := filesAfter[p]
		if !isChange {
			after = filesBefore[p]
		}
		switch {
		case changed && content == theirs:
		case changed && theirs == "" && filesBefore[p] == "" && content == after: // It came and went before.
		case changed:
			w.t.Errorf("%s: somebody wrote %q, and it is %q; %v", p, theirs, content, err)
		case err == nil && content != after:
			w.t.Errorf("%s is %q without an error", p, content)
		case err != nil && content != filesBefore[p] && !slices.Contains(written, p):
			w.t.Errorf("%s is %q after the error: %v", p, content, err)
		}
		if mode, ok := w.modes[p]; ok && content != "" {
			info, statErr := os.Stat(filepath.Join(w.dir, p))
			w.check(statErr)
			if info.Mode().Perm() != mode && !changed {
				w.t.Errorf("%s: somebody gave it mode %v, and it has %v; %v", p, mode, info.Mode(), err)
			}
		}
		delete(left, p)
	}
	for p := range left {
		if _, theirs := w.theirs[p]; theirs {
			continue
		}
		emptied := func(file string) bool { return strings.HasSuffix(p, "/") && strings.HasPrefix(file, p) }
		switch {
		case noRemoval && isTemp(filepath.Base(p)), slices.ContainsFunc(slices.Collect(maps.Keys(w.theirs)), emptied):
		default:
			w.t.Errorf("%s is left; %v", p, err)
		}
	}
}

// At each moment each thing happens, to the file that Apply is at or to another one.
func TestApplyDuringOneEvent(t *testing.T) {
	t.Parallel()
	for i, moment := range moments() {
		_, at, _ := strings.Cut(moment, " ")
		others := slices.DeleteFunc(append(slices.Sorted(maps.Keys(filesAfter)), "read.yaml"), func(p string) bool { return p == at })
		for failure := range failures {
			applyDuring(t, t.TempDir(), []event{{moment, failure, ""}})
		}
		for incident := range incidents {
			applyDuring(t, t.TempDir(), []event{{moment, incident, at}})
			applyDuring(t, t.TempDir(), []event{{moment, incident, others[i%len(others)]}})
		}
	}
}

// What somebody makes of a file after it was changed is not taken back with it.
func TestApplyIsTakenBackAround(t *testing.T) {
	t.Parallel()
	for incident := range incidents {
		for _, first := range []event{{}, {"create a.yaml", "not allowed", ""}, {"exchange a.yaml", "busy", ""}, {"exchange a.yaml", "unsupported", ""}} {
			applyDuring(t, t.TempDir(), []event{first, {"exchange b.yaml", incident, "a.yaml"}, {"rename gone.yaml", "no space", ""}})
		}
	}
}

// Several things happen, such as a change by somebody else while a failure is taken back.
func TestApplyDuringEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var events []event
		for range rapid.IntRange(2, 6).Draw(r, "events") {
			events = append(events, event{
				rapid.SampledFrom(moments()).Draw(r, "moment"),
				rapid.SampledFrom(append(slices.Sorted(maps.Keys(incidents)), slices.Sorted(maps.Keys(failures))...)).Draw(r, "incident"),
				rapid.SampledFrom(append(slices.Sorted(maps.Keys(filesAfter)), "read.yaml")).Draw(r, "file"),
			})
		}
		applyDuring(r, t.TempDir(), events)
	})
}
