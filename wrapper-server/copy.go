// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errCopyUsage describes the supported arguments.
var errCopyUsage = errors.New("usage: cp [-afprRv] SOURCE... TARGET; a SOURCE that ends in /. means the contents of that directory")

// copyFiles is cp with the features that init containers need to copy tools into a shared volume: cp -a SOURCE... TARGET. It copies files,
// directories and symbolic links with permissions and modification times. It replaces existing files instead of writing to them, so that
// running programs keep the old file. The options -a, -f, -p, -r, -R and -v are accepted and have no effect.
func copyFiles(args []string) error {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" {
		option := args[0]
		args = args[1:]
		if option == "--" {
			break
		}
		if strings.Trim(option[1:], "afprRv") != "" {
			return fmt.Errorf("unknown option %q, %w", option, errCopyUsage)
		}
	}
	if len(args) < 2 {
		return errCopyUsage
	}
	target := args[len(args)-1]
	info, err := os.Stat(target)
	intoDir := err == nil && info.IsDir()
	if len(args) > 2 && !intoDir {
		return fmt.Errorf("%s is not a directory: several sources need a directory as target", target)
	}
	for _, source := range args[:len(args)-1] {
		to := target
		if intoDir && !strings.HasSuffix(source, "/.") {
			to = filepath.Join(target, filepath.Base(source))
		}
		if err := copyTree(filepath.Clean(source), to); err != nil {
			return fmt.Errorf("copy %s to %s: %w", source, to, err)
		}
	}
	return nil
}

func copyTree(source, target string) error {
	return filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		return copyEntry(path, filepath.Join(target, rel), d)
	})
}

func copyEntry(source, target string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch {
	case info.IsDir():
		// The owner needs these permissions to copy the contents. MkdirAll does not change existing directories: the target may be a mounted
		// volume of another user.
		return os.MkdirAll(target, info.Mode().Perm()|0o700)
	case info.Mode()&fs.ModeSymlink != 0:
		return copyLink(source, target)
	case info.Mode().IsRegular():
		return copyFile(source, target, info)
	default:
		return fmt.Errorf("%s is neither a file, a directory nor a symbolic link", source)
	}
}

func copyLink(source, target string) error {
	to, err := os.Readlink(source)
	if err != nil {
		return err
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(to, target)
}

// copyFile writes a temporary file and renames it to the target, because the kernel rejects writes to a running program.
func copyFile(source, target string, info fs.FileInfo) (err error) {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	out, err := os.CreateTemp(filepath.Dir(target), ".cp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(out.Name())
		}
	}()
	if _, err = io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	if err = errors.Join(out.Chmod(info.Mode().Perm()), out.Close()); err != nil {
		return err
	}
	if err = os.Chtimes(out.Name(), info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	return os.Rename(out.Name(), target)
}
