// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package checkout reads the commit of a git checkout, and copies its files.
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

// Dirty is the suffix of the revision of a checkout with uncommitted changes.
const Dirty = "-dirty"

// Source identifies the source of a release.
type Source struct {
	// Revision is the commit. It ends with Dirty if the checkout has uncommitted changes.
	Revision string
	// Time is the time of the commit or SOURCE_DATE_EPOCH, in UTC.
	Time time.Time
}

// Read returns the source in a directory. epoch is the value of SOURCE_DATE_EPOCH, in seconds since 1970, or empty.
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
		return Source{}, fmt.Errorf("invalid time %q of the source: set SOURCE_DATE_EPOCH to seconds since 1970", seconds)
	}
	return Source{Revision: revision, Time: time.Unix(unix, 0).UTC()}, nil
}

// Changed reports whether files below paths differ between the commit of a checkout and a tag. A missing tag is an error.
func Changed(ctx context.Context, dir, tag string, paths ...string) (bool, error) {
	_, err := git(ctx, dir, append([]string{"diff", "--quiet", tag, "HEAD", "--"}, paths...)...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return true, nil
	}
	return false, err
}

// Copy copies the files of a checkout to another directory, without the files that git ignores.
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
		return nil // an uncommitted deletion
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
