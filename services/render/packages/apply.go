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

	"github.com/krmfn/krmfn/internal/parallel"
)

// Apply makes all changes on disk, or none of them. A replaced file keeps its mode, and its owner and group if the process may
// change them. A new file gets mode 0666 less the umask, and Apply creates the directories that it needs. Even if the process
// is killed, each file has either its complete old content or its complete new content. The exception is a file in a directory
// where the user may not create files: Apply overwrites that file in place.
//
// Apply returns an error before it changes anything if a file, changed or only read, differs from what ReadFile returned or
// from Change.Before (*ChangedError), if another process has locked the directory (*LockedError), if two changes reach the same
// file through links, if a file cannot be written, or if the disk is full. A *PartialError means that Apply made some changes
// and could not undo them. After success, Apply forgets what ReadFile returned: read files again before changing them again.
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
	// The changes are complete. If deleting a temporary file fails, the next Apply deletes it.
	_ = each(batches, (*batch).discard)
	d.forget()
	return nil
}

// ChangedError reports that a file differs from its content at the time it was read.
type ChangedError struct {
	// Path is the absolute path of the file.
	Path string
	how  string
}

// Suffixes of ChangedError's message for changes other than an edit.
const (
	deleted  = ": it has been deleted"
	appeared = ": it is new"
)

func (e *ChangedError) Error() string { return e.Path + " changed since it was read" + e.how }

// PartialError reports that a change failed and that some earlier changes could not be undone.
type PartialError struct {
	// Written lists the changed files as sorted paths relative to the directory.
	Written []string
	// Err is the error of the change that failed.
	Err error
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("%v (these files are changed and could not be restored: %s)", e.Err, strings.Join(e.Written, ", "))
}

// Unwrap returns the error of the change that failed.
func (e *PartialError) Unwrap() error { return e.Err }

// batch holds the changes in one directory. They are made sequentially, because the kernel locks a directory while a file is
// created or renamed in it.
type batch struct {
	*Dir
	path  string
	files []*replacement
	// directory is open during a step; fd is its file descriptor.
	directory *os.File
	fd        int
	// made lists the directories created for the batch, deepest first.
	made []string
}

// plan resolves symbolic links and groups the changes by directory.
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
		for _, end := range targetsOf(p, was, c) {
			if other, twice := ends[end]; twice {
				return nil, fmt.Errorf("%s and %s are the same file, through links, and both would change: remove one of them", other, c.Path)
			}
			ends[end] = c.Path
		}
		dir, name := path.Split(p)
		b := byPath[dir]
		if b == nil {
			b = &batch{Dir: d, path: path.Clean(dir)}
			byPath[dir], batches = b, append(batches, b)
		}
		b.files = append(b.files, &replacement{name: name, before: c.Before, after: c.After, oldStat: was})
	}
	return batches, nil
}

// each runs a step for each file of each batch. Batches run in parallel. Each batch stops at its first error.
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
		err = failed.Err // The path in err may be the temporary file's.
	}
	return fmt.Errorf("write %s: %w", b.absolute(path.Join(b.path, r.name)), err)
}

// undo restores the original files after an error. It returns err, or a *PartialError if a file could not be restored.
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
			_ = b.root.Remove(dir) // Fails if another process has put files there; the directory then stays.
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

// beforeStep is called with the path of the file before each step that may fail. Tests inject errors and concurrent changes here.
func (b *batch) beforeStep(step, name string) error {
	if b.intercept == nil {
		return nil
	}
	return b.intercept(step, path.Join(b.path, name))
}

func (b *batch) close() { _ = b.directory.Close() } // Only read from, so close errors do not matter.

// target returns the path of the file that a symbolic link leads to.
func (d *Dir) target(p string) (string, error) {
	resolved, err := filepath.EvalSymlinks(d.absolute(p))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(d.location, resolved)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("the symbolic link points outside the package: %s", resolved)
	}
	return filepath.ToSlash(rel), nil
}
