// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/krmfn/krmfn/services/render/parallel"
)

// Apply makes changes on disk, all of them or none. A file keeps its mode, and its owner and group where the user may give
// files away; a new one gets the mode that the umask leaves of 0666, and the directories that it needs. While Apply is at
// work, and after a kill, each file has all of its content from before or all of the new; only where the user may not make
// files beside it is it written in place.
//
// Errors before anything is changed: a *ChangedError for a file, changed or only read, that is no longer what ReadFile has
// returned or what a Change says; a *LockedError while another process changes the directory; two changes that end at one
// file through links; a file that cannot be written, and no space. A *PartialError says that some changes were made and
// could not be taken back. What Apply has ended well is forgotten: files are to be read again before they are changed again.
func (d *Dir) Apply(changes []Change) error {
	if d.lock == nil {
		if err := d.Lock(); err != nil {
			return err
		}
		defer d.release()
	}
	d.removeLeftovers()
	batches, err := d.plan(changes)
	if err == nil {
		err = each(batches, (*batch).stage)
	}
	if err == nil {
		err = d.checkRead(changes)
	}
	if err == nil {
		err = each(batches, (*batch).commit)
	}
	if err != nil {
		return undo(batches, err)
	}
	// What is left to remove is nobody's any more. Where that fails, the next Apply does it.
	_ = each(batches, (*batch).discard)
	d.forget()
	return nil
}

// ChangedError says that a file is not what it was when it was read.
type ChangedError struct {
	// Path is the absolute path of the file.
	Path string
	how  string
}

// How a file has changed, where that is not its content.
const (
	deleted  = ": it has been deleted"
	appeared = ": it is new"
)

func (e *ChangedError) Error() string { return e.Path + " changed since it was read" + e.how }

// PartialError says that some changes were made, and could not be taken back after another had failed.
type PartialError struct {
	// Written are the paths of their files in the directory, sorted.
	Written []string
	// Err is why the others were not made.
	Err error
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("%v (already changed, and not taken back: %s)", e.Err, strings.Join(e.Written, ", "))
}

// Unwrap returns why the other changes were not made.
func (e *PartialError) Unwrap() error { return e.Err }

// batch is the changes in one directory. They are made one after the other, as the system locks the directory while a file is
// made or renamed in it.
type batch struct {
	*Dir
	path  string
	files []*replacement
	// directory is open while a step goes through its changes; fd is its descriptor.
	directory *os.File
	fd        int
	// made are the directories that were made for the batch, the deepest first.
	made []string
}

// plan finds the files at which changes end.
func (d *Dir) plan(changes []Change) ([]*batch, error) {
	var batches []*batch
	byPath, ends := map[string]*batch{}, map[any]string{}
	for _, c := range changes {
		p := c.Path
		was, err := statEntry(unix.AT_FDCWD, d.absolute(p))
		if err == nil && c.After != nil && kind(was) == unix.S_IFLNK {
			if p, err = d.target(p); err == nil {
				was, err = statEntry(unix.AT_FDCWD, d.absolute(p))
			}
		}
		switch {
		case inGit(p) || inGit(c.Path):
			return nil, fmt.Errorf("write %s: it is in git's own directory", d.absolute(c.Path))
		case errors.Is(err, fs.ErrNotExist) && c.After == nil:
			continue
		case errors.Is(err, fs.ErrNotExist):
			was = nil
		case err != nil:
			return nil, fmt.Errorf("write %s: %w", d.absolute(c.Path), err)
		}
		for _, end := range endsOf(p, was, c) {
			if other, twice := ends[end]; twice {
				return nil, fmt.Errorf("%s and %s are the same file, through links, and both are to be changed: remove one of them", other, c.Path)
			}
			ends[end] = c.Path
		}
		dir, name := path.Split(p)
		b := byPath[dir]
		if b == nil {
			b = &batch{Dir: d, path: path.Clean(dir)}
			byPath[dir], batches = b, append(batches, b)
		}
		b.files = append(b.files, &replacement{name: name, before: c.Before, after: c.After, was: was})
	}
	return batches, nil
}

// each takes a step with all files of all batches, up to the first error.
func each(batches []*batch, step func(*batch, *replacement) error) error {
	return parallel.Each(len(batches), func(i int) error {
		b := batches[i]
		if err := b.open(); err != nil {
			return fmt.Errorf("write to %s: %w", b.absolute(b.path), err)
		}
		defer b.close()
		for _, r := range b.files {
			if err := step(b, r); err != nil {
				return b.explainWrite(r, err)
			}
		}
		return nil
	})
}

func (b *batch) explainWrite(r *replacement, err error) error {
	if errors.As(err, new(*ChangedError)) {
		return err
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err // Its path may be that of the file beside this one.
	}
	return fmt.Errorf("write %s: %w", b.absolute(path.Join(b.path, r.name)), err)
}

// undo makes everything as it was before, after an error, which it returns.
func undo(batches []*batch, err error) error {
	var written []string
	for _, b := range slices.Backward(batches) {
		if openErr := b.open(); openErr != nil {
			for _, r := range b.files {
				if r.done {
					written = append(written, path.Join(b.path, r.name))
				}
			}
			continue
		}
		for _, r := range slices.Backward(b.files) {
			if r.done && !b.revert(r) {
				written = append(written, path.Join(b.path, r.name))
			}
			_ = b.discard(r)
		}
		b.close()
	}
	for _, b := range batches {
		for _, dir := range b.made {
			_ = b.root.Remove(dir) // One that others use by now is not empty, and stays.
		}
	}
	if len(written) > 0 {
		slices.Sort(written)
		return &PartialError{Written: written, Err: err}
	}
	return err
}

func (b *batch) open() (err error) {
	b.directory, err = b.root.Open(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		for dir := b.path; dir != "."; dir = path.Dir(dir) {
			if _, err := b.root.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				break
			}
			b.made = append(b.made, dir)
		}
		if err = b.root.MkdirAll(b.path, 0o777); err == nil {
			b.directory, err = b.root.Open(b.path)
		}
	}
	if err == nil {
		b.fd = int(b.directory.Fd())
	}
	return err
}

// at is called before each step that may fail, with the path of the file. Tests make it fail, or do something meanwhile.
func (b *batch) at(step, name string) error {
	if b.intercept == nil {
		return nil
	}
	return b.intercept(step, path.Join(b.path, name))
}

func (b *batch) close() { _ = b.directory.Close() } // Nothing was written to it.

// target follows a symbolic link to the file that is to be replaced.
func (d *Dir) target(p string) (string, error) {
	resolved, err := filepath.EvalSymlinks(d.absolute(p))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(d.location, resolved)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("the symbolic link leads out of the package: %s", resolved)
	}
	return filepath.ToSlash(rel), nil
}
