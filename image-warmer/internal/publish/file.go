// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/internal/images/metadata"
	"github.com/krmfn/krmfn/internal/server/configfile"
)

// StandardOutput is the File.Name for standard output.
const StandardOutput = "-"

// File publishes metadata in a file.
type File struct {
	// Name is the path of the file, whose directory must exist, or StandardOutput.
	Name   string
	Stdout io.Writer
	// DryRun prevents writes.
	DryRun bool
	Log    *slog.Logger
}

// Publish writes the metadata, unless the file already contains it or no image was resolved. It replaces the file atomically.
func (f *File) Publish(ctx context.Context, m Metadata) (report.Metadata, error) {
	target, action, before := "standard output", report.Created, []byte(nil)
	if f.Name != StandardOutput {
		var err error
		if before, err = readBefore(f.Name); err != nil {
			return report.Metadata{}, fmt.Errorf("read --metadata-file before writing it: %w", err)
		}
		if target = f.Name; before != nil {
			action = report.Updated
		}
	}
	text, outcome, problem, err := m.content(before)
	outcome.Target = target
	if problem != nil {
		f.Log.WarnContext(ctx, "the file has invalid metadata, which is replaced", "file", f.Name, "err", problem)
	}
	if err != nil || outcome.Action != "" {
		return outcome, err
	}
	outcome.Action = action
	switch {
	case f.DryRun:
	case f.Name == StandardOutput:
		_, err = f.Stdout.Write(text)
	default:
		err = replace(f.Name, text)
	}
	if err != nil {
		return outcome, fmt.Errorf("write --metadata-file: %w", err)
	}
	return outcome, nil
}

// readBefore returns the content of a file, or nil if the file does not exist. It returns slightly more than metadata.MaxSize bytes of a
// larger file, which is then invalid.
func readBefore(name string) ([]byte, error) {
	text, err := configfile.Read(name, metadata.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// replace writes a temporary file and renames it, so that readers never see a partial file.
func replace(name string, text []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(text)
	// Metadata is not secret, and other users may read the file.
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
