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
	"syscall"

	"github.com/krmfn/krmfn/services/render/parallel"
)

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
