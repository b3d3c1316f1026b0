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

// filesBefore and filesAfter hold the content of the directory's files before and after Apply. "" means that the file does not
// exist.
var (
	filesBefore = map[string]string{"a.yaml": "a old", "b.yaml": "b old", "gone.yaml": "gone old", "sub/c.yaml": "c old", "read.yaml": "only read"}
	filesAfter  = map[string]string{"a.yaml": "a new, longer", "b.yaml": "b", "gone.yaml": "", "sub/c.yaml": "c new", "new/d.yaml": "d new"}
)

// moments returns every step of Apply that an event can precede, each with the path of the file that the step works on.
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

// failures are errors that system calls may return.
var failures = map[string]error{
	"no space": syscall.ENOSPC, "not allowed": syscall.EACCES, "busy": syscall.EBUSY, "unsupported": syscall.EINVAL,
}

// incidents are changes to a file by another process.
var incidents = map[string]func(*world, string) error{
	"edit": func(w *world, p string) error { w.write(p, strings.Repeat("E", len(filesBefore[p])+1)); return nil },
	"edit in place, same size": func(w *world, p string) error {
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

// takesTwoSteps lists incidents that first find a file and then change it. Because Apply works on directories in parallel,
// another directory may reach any state between the two steps.
var takesTwoSteps = map[string]bool{"edit": true, "edit in place, same size": true, "chmod": true}

// event is an incident that happens to a file once, at a moment of Apply.
type event struct{ moment, incident, file string }

// world is a directory that Apply and another process change at the same time.
type world struct {
	t   fataler
	dir string
	mu  sync.Mutex
	// theirs holds the content of files that the other process has written or, if "", deleted. modes holds the modes that it
	// has set.
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

// files returns the content of all files by path. Empty directories are included as "dir/".
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

// applyDuring runs Apply while the events happen, and verifies that the other process's changes survive, that all or none of
// Apply's changes are made, and that the error names the cause.
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
		case changed && theirs == "" && filesBefore[p] == "" && content == after: // The other process created and deleted it before Apply did its part.
		case changed:
			w.t.Errorf("%s: another process wrote %q, content after Apply = %q; Apply() = %v", p, theirs, content, err)
		case err == nil && content != after:
			w.t.Errorf("Apply() = nil, but the content of %s = %q", p, content)
		case err != nil && content != filesBefore[p] && !slices.Contains(written, p):
			w.t.Errorf("content of %s = %q after Apply() = %v", p, content, err)
		}
		if mode, ok := w.modes[p]; ok && content != "" {
			info, statErr := os.Stat(filepath.Join(w.dir, p))
			w.check(statErr)
			if info.Mode().Perm() != mode && !changed {
				w.t.Errorf("%s: another process set mode %v, mode after Apply = %v; Apply() = %v", p, mode, info.Mode(), err)
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
			w.t.Errorf("temporary file %s still exists; Apply() = %v", p, err)
		}
	}
}

// Each incident happens at each moment, to the file that Apply works on and to others.
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

// Undoing Apply's changes keeps what another process has written to a file since.
func TestApplyUndoKeepsConcurrentChanges(t *testing.T) {
	t.Parallel()
	for incident := range incidents {
		for _, first := range []event{{}, {"create a.yaml", "not allowed", ""}, {"exchange a.yaml", "busy", ""}, {"exchange a.yaml", "unsupported", ""}} {
			applyDuring(t, t.TempDir(), []event{first, {"exchange b.yaml", incident, "a.yaml"}, {"rename gone.yaml", "no space", ""}})
		}
	}
}

// Several incidents happen, such as an edit by another process while Apply undoes its changes after a failure.
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
