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

// StandardOutput is the name of a File that is none.
const StandardOutput = "-"

// File is where metadata is published without a cluster.
type File struct {
	// Name is the file's, in a directory that is there, or StandardOutput.
	Name   string
	Stdout io.Writer
	// DryRun leaves the file as it is.
	DryRun bool
	Log    *slog.Logger
}

// Publish writes the metadata, unless it is there already, or nothing was resolved. A file is exchanged as a whole.
func (f *File) Publish(ctx context.Context, m Metadata) (report.Metadata, error) {
	target, action, before := "standard output", report.Created, []byte(nil)
	if f.Name != StandardOutput {
		var err error
		if before, err = readBefore(f.Name); err != nil {
			return report.Metadata{}, fmt.Errorf("read --metadata-file, which is to be written: %w", err)
		}
		if target = f.Name; before != nil {
			action = report.Updated
		}
	}
	text, outcome, problem, err := m.content(before)
	outcome.Target = target
	if problem != nil {
		f.Log.WarnContext(ctx, "what is in the file is replaced, as it is not understood", "file", f.Name, "err", problem)
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

// readBefore returns what is in a file, nil where there is none. Of a file that is too large to be one of metadata it returns
// more than metadata has.
func readBefore(name string) ([]byte, error) {
	text, err := configfile.Read(name, metadata.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// replace writes beside the file and renames, so that who reads it never sees half of it.
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
	// Others read it, too: it goes into ConfigMaps, and has nothing secret.
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
