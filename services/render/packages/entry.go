// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// The functions below act on the entries of one directory with single system calls, because an os.File costs several and a
// render touches many files. Names contain no slash, and links are not followed.

// retryEINTR repeats a system call that a signal interrupted (EINTR).
func retryEINTR(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func openEntry(dir int, name string, flags int, mode uint32) (fd int, err error) {
	err = retryEINTR(func() (err error) {
		// Without O_NONBLOCK, opening a pipe blocks until a writer opens it.
		fd, err = unix.Openat(dir, name, flags|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

func statEntry(dir int, name string) (*unix.Stat_t, error) {
	var s unix.Stat_t
	err := retryEINTR(func() error { return unix.Fstatat(dir, name, &s, unix.AT_SYMLINK_NOFOLLOW) })
	return &s, err
}

func stat(fd int) (*unix.Stat_t, error) {
	var s unix.Stat_t
	err := retryEINTR(func() error { return unix.Fstat(fd, &s) })
	return &s, err
}

func writeAll(fd int, content []byte) error {
	for len(content) > 0 {
		err := retryEINTR(func() error {
			n, err := unix.Write(fd, content)
			content = content[max(n, 0):]
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readAll returns the content of a file. size is the expected size; the file may have grown or shrunk since.
func readAll(fd int, size int64) ([]byte, error) {
	content := make([]byte, size+1)
	have := 0
	for {
		var n int
		err := retryEINTR(func() (err error) {
			n, err = unix.Read(fd, content[have:])
			return err
		})
		if err != nil {
			return nil, err
		}
		have += n
		switch {
		case n == 0 || int64(have) == size && have < len(content):
			return content[:have:have], nil
		case have == len(content): // The file has grown.
			content = append(content, make([]byte, len(content))...)
		}
	}
}

// kind returns the file type bits, such as unix.S_IFREG.
func kind(s *unix.Stat_t) uint32 { return uint32(s.Mode) & unix.S_IFMT } //nolint:unconvert // The type differs between systems.

const permissions = uint32(fs.ModePerm)

func permissionsOf(s *unix.Stat_t) uint32 { return uint32(s.Mode) & permissions } //nolint:unconvert // As above.

func modified(s *unix.Stat_t) time.Time { return time.Unix(s.Mtim.Unix()) }

// sameFile reports whether two results of stat are of the same file with the same content, judging by fields that a rename keeps.
func sameFile(a, b *unix.Stat_t) bool {
	return a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.Mtim == b.Mtim
}

// untouched reports whether a file has been neither changed nor renamed.
func untouched(a, b *unix.Stat_t) bool { return sameFile(a, b) && a.Ctim == b.Ctim && a.Mode == b.Mode }
