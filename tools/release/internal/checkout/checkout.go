// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package checkout tells which commit of git a directory has, and copies its files.
package checkout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Dirty is behind the revision of a checkout with changes that are in no commit.
const Dirty = "-dirty"

// Source is where a release comes from.
type Source struct {
	// Revision is the commit, with Dirty behind it where there is more.
	Revision string
	// Time is that of the commit, or what SOURCE_DATE_EPOCH says, in UTC.
	Time time.Time
}

// Read describes the checkout in a directory. epoch is the value of SOURCE_DATE_EPOCH, in seconds since 1970, or empty.
func Read(ctx context.Context, dir, epoch string) (Source, error) {
	last, err := git(ctx, dir, "log", "-1", "--format=%H %ct")
	if err != nil {
		return Source{}, err
	}
	revision, seconds, _ := strings.Cut(strings.TrimSpace(last), " ")
	changes, err := git(ctx, dir, "status", "--porcelain")
	if err != nil {
		return Source{}, err
	}
	if changes != "" {
		revision += Dirty
	}
	if epoch != "" {
		seconds = epoch
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || unix < 0 {
		return Source{}, fmt.Errorf("time %q of the source: set SOURCE_DATE_EPOCH to seconds since 1970", seconds)
	}
	return Source{Revision: revision, Time: time.Unix(unix, 0).UTC()}, nil
}

// Changed reports whether the files below paths differ between the commit of a checkout and a tag, which must exist.
func Changed(ctx context.Context, dir, tag string, paths ...string) (bool, error) {
	_, err := git(ctx, dir, append([]string{"diff", "--quiet", tag, "HEAD", "--"}, paths...)...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return true, nil
	}
	return false, err
}

// Copy copies the files of a checkout, but for those that git ignores, to another directory.
func Copy(ctx context.Context, from, to string) error {
	list, err := git(ctx, from, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return fmt.Errorf("copy the checkout: %w", err)
		}
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // It is deleted, and no commit says so yet.
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("git %s in %s: %w: %s", args[0], dir, err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w", args[0], dir, err)
	}
	return string(out), nil
}
