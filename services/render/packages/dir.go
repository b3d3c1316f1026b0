// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/krmfn/krmfn/services/render/parallel"
)

// Dir is a directory on disk. Nothing outside of it is read or written, whatever symbolic links it holds: linked files are
// read and written through where they lie inside, linked directories are left out.
type Dir struct {
	root     *os.Root
	location string
}

// OpenDir opens a directory; a symbolic link to one is followed. Close must be called in the end.
func OpenDir(dir string) (*Dir, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	return &Dir{root: root, location: abs}, nil
}

// Close releases the directory.
func (d *Dir) Close() error { return d.root.Close() }

// Location returns the absolute path of the directory, without symbolic links.
func (d *Dir) Location() string { return filepath.ToSlash(d.location) }

// Paths returns all regular files outside of .git directories, and all symbolic links but those to directories.
func (d *Dir) Paths() ([]string, error) {
	var paths []string
	err := fs.WalkDir(d.root.FS(), ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.Type().IsRegular(), entry.Type()&fs.ModeSymlink != 0 && !d.isDir(p):
			paths = append(paths, p)
		}
		return nil
	})
	return paths, err
}

func (d *Dir) isDir(p string) bool {
	info, err := d.root.Stat(p)
	return err == nil && info.IsDir()
}

// ReadFile returns a file's content. A symbolic link that leads out of the directory is an error.
func (d *Dir) ReadFile(p string) ([]byte, error) {
	// Opening a pipe would wait for ever otherwise.
	f, err := d.root.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, d.explain(p, err)
	}
	defer f.Close() //nolint:errcheck // Nothing was written.
	info, err := f.Stat()
	if err != nil {
		return nil, d.explain(p, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", filepath.Join(d.location, p))
	}
	// The buffer asks for memory again where there is less room than this, even at the end.
	content := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := content.ReadFrom(f); err != nil {
		return nil, d.explain(p, err)
	}
	return content.Bytes(), nil
}

// explain adds what is special about links to an error.
func (d *Dir) explain(p string, err error) error {
	if info, lerr := d.root.Lstat(p); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link that leads out of the package or to nothing: put the file in its place",
			filepath.Join(d.location, p))
	}
	return fmt.Errorf("%s: %w", d.location, err)
}

// Apply makes changes on disk. Each file is replaced as a whole, or not at all, and keeps its mode; new files get the mode
// that the umask leaves of 0666, and the directories that they need. Deletions come last. The first error ends it, with
// the changes before it made.
func (d *Dir) Apply(changes []Change) error {
	err := parallel.Each(len(changes), func(i int) error {
		c := changes[i]
		if c.After == nil {
			return nil
		}
		if err := d.write(c.Path, c.After); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(d.location, c.Path), err)
		}
		return nil
	})
	if err != nil {
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

func (d *Dir) write(p string, content []byte) error {
	p, err := d.target(p)
	if err != nil {
		return err
	}
	before, err := d.writable(p)
	if errors.Is(err, fs.ErrNotExist) {
		err = d.root.MkdirAll(path.Dir(p), 0o777)
	}
	if err != nil {
		return err
	}
	// The name is no resource file's, so that one left behind by a crash is not taken for one.
	temp := path.Join(path.Dir(p), ".krmfn-"+rand.Text()+".tmp")
	err = d.create(temp, before, content)
	if err == nil {
		err = d.root.Rename(temp, p)
	}
	if err == nil {
		return nil
	}
	if rerr := d.root.Remove(temp); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		return fmt.Errorf("%w (and %w)", err, rerr)
	}
	return err
}

// writable returns what is known of a file, or tells why the user may not write to it. Replacing one takes no such right, but
// who has taken it away means it. The error is fs.ErrNotExist where there is no such file.
func (d *Dir) writable(p string) (fs.FileInfo, error) {
	// Opening a pipe would wait for ever otherwise.
	f, err := d.root.OpenFile(p, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return info, errors.Join(err, f.Close())
}

// create makes a file with the mode of the one that it is to replace; nil for none.
func (d *Dir) create(temp string, before fs.FileInfo, content []byte) error {
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && before != nil {
		err = f.Chmod(before.Mode().Perm())
	}
	return errors.Join(err, f.Close())
}

// target follows a symbolic link to the file that is to be replaced.
func (d *Dir) target(p string) (string, error) {
	info, err := d.root.Lstat(p)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return p, nil //nolint:nilerr // What is not there is about to be made.
	}
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
