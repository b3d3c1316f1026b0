// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/krmfn/krmfn/services/render/parallel"
)

// Apply makes changes on disk. Each file is replaced as a whole, or not at all, and keeps its mode; new files get the mode
// that the umask leaves of 0666, and the directories that they need. No file is replaced before the contents of all are on
// disk, so that one that cannot be written leaves all files as they were. Deletions come last. The first error ends it, with
// the replacements before it made.
func (d *Dir) Apply(changes []Change) error {
	batches := d.batches(changes)
	err := parallel.Each(len(batches), func(i int) error { return batches[i].each(batches[i].stage) })
	if err == nil {
		err = parallel.Each(len(batches), func(i int) error { return batches[i].each(batches[i].replace) })
	}
	if err != nil {
		for _, b := range batches {
			if b.staged() {
				err = errors.Join(err, b.each(b.discard))
			}
		}
		return err
	}
	for _, c := range changes {
		if c.After != nil {
			continue
		}
		if err := d.root.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete %s: %w", filepath.Join(d.location, c.Path), err)
		}
	}
	return nil
}

// batch is the files of one directory that are written. They are written one after the other, as the directory is locked while
// a file is made or renamed in it.
type batch struct {
	*Dir
	path  string
	files []*replacement
	// handle is the directory, while a step goes through the files.
	handle *os.Root
}

type replacement struct {
	// name is that of the file in the directory; that of the file behind a link is a path in the tree.
	name   string
	linked bool
	// temp is where the content is until it takes the file's place; "" before and after.
	temp    string
	content []byte
}

func (d *Dir) batches(changes []Change) []*batch {
	var batches []*batch
	byPath := map[string]*batch{}
	for _, c := range changes {
		if c.After == nil {
			continue
		}
		dir, name := path.Split(c.Path)
		b := byPath[dir]
		if b == nil {
			b = &batch{Dir: d, path: path.Clean(dir)}
			byPath[dir], batches = b, append(batches, b)
		}
		b.files = append(b.files, &replacement{name: name, content: c.After})
	}
	return batches
}

// staged tells whether there are files that were not put in their places.
func (b *batch) staged() bool {
	return slices.ContainsFunc(b.files, func(r *replacement) bool { return r.temp != "" })
}

// each takes a step with all files, up to the first error.
func (b *batch) each(step func(*replacement) error) (err error) {
	if b.handle, err = b.root.OpenRoot(b.path); errors.Is(err, fs.ErrNotExist) {
		if err = b.root.MkdirAll(b.path, 0o777); err == nil {
			b.handle, err = b.root.OpenRoot(b.path)
		}
	}
	if err != nil {
		return fmt.Errorf("write to %s: %w", filepath.Join(b.location, b.path), err)
	}
	defer b.handle.Close() //nolint:errcheck // Nothing was written to it.
	for _, r := range b.files {
		if err := step(r); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(b.location, b.path, r.name), err)
		}
	}
	return nil
}

// holder is what the name of a file is relative to.
func (b *batch) holder(r *replacement) *os.Root {
	if r.linked {
		return b.root
	}
	return b.handle
}

// stage writes a content to a file of its own, beside the one that it is to replace.
func (b *batch) stage(r *replacement) error {
	before, err := b.handle.Lstat(r.name)
	if err == nil && before.Mode()&fs.ModeSymlink != 0 {
		if r.name, err = b.target(path.Join(b.path, r.name)); err != nil {
			return err
		}
		r.linked = true
		before, err = b.root.Lstat(r.name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before = nil
	case err != nil:
		return err
	default:
		if err := b.writable(r); err != nil {
			return err
		}
	}
	// The name is no resource file's, so that one left behind by a crash is not taken for one.
	r.temp = path.Join(path.Dir(r.name), ".krmfn-"+rand.Text()+".tmp")
	f, err := b.holder(r).OpenFile(r.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		r.temp = ""
		return err
	}
	_, err = f.Write(r.content)
	if err == nil && before != nil {
		err = f.Chmod(before.Mode().Perm())
	}
	return errors.Join(err, f.Close())
}

// writable tells why the user may not write to a file. Replacing one takes no such right, but who has taken it away means it.
func (b *batch) writable(r *replacement) error {
	// Opening a pipe would wait for ever otherwise.
	f, err := b.holder(r).OpenFile(r.name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func (b *batch) replace(r *replacement) error {
	err := b.holder(r).Rename(r.temp, r.name)
	if err == nil {
		r.temp = ""
	}
	return err
}

// discard removes what was staged and not put in its place.
func (b *batch) discard(r *replacement) error {
	if r.temp == "" {
		return nil
	}
	return b.holder(r).Remove(r.temp)
}

// target follows a symbolic link to the file that is to be replaced.
func (d *Dir) target(p string) (string, error) {
	resolved, err := filepath.EvalSymlinks(filepath.Join(d.location, p))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(d.location, resolved)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("the symbolic link leads out of the package: %s", resolved)
	}
	return filepath.ToSlash(rel), nil
}
