// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package renderhelmchart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/ignore"
)

// maxChart is the maximum size in bytes of a chart's files in total, and of a values file.
const maxChart = 64 << 20

// files provides charts and values files. It reads nothing outside the directory, not even through links.
type files struct {
	root     *os.Root // nil if there is no directory
	download bool
	items    fn.KubeObjects // include the Secrets with credentials
}

func openFiles(environ []string, items fn.KubeObjects) (files, error) {
	f := files{items: items}
	for _, variable := range environ {
		switch name, value, _ := strings.Cut(variable, "="); {
		case name == downloadVariable:
			f.download = value == "true"
		case name == DirectoryVariable && value != "":
			root, err := os.OpenRoot(value)
			if err != nil {
				return f, fmt.Errorf("%s: %w", DirectoryVariable, err)
			}
			f.root = root
		}
	}
	return f, nil
}

func (f files) close() {
	if f.root != nil {
		_ = f.root.Close()
	}
}

// errMissing returns the error for a file that is not in the directory, with advice.
func (f files) errMissing(what string) error {
	if f.root == nil {
		return fmt.Errorf("%s cannot be read: set %s to the directory that has it", what, DirectoryVariable)
	}
	return fmt.Errorf("%s is not in the directory of %s", what, DirectoryVariable)
}

// chart loads a chart from a directory or archive, or else downloads it.
func (f files) chart(ctx context.Context, c chartConfig) (*chart.Chart, error) {
	name, version := c.ChartArgs.Name, c.ChartArgs.Version
	for _, home := range []string{c.chartHome, "."} {
		at := local(path.Join(home, name))
		found, err := f.directory(at)
		if errors.Is(err, fs.ErrNotExist) && version != "" {
			found, err = f.archive(at + "-" + version + ".tgz")
		}
		if err == nil && version != "" && found.Metadata.Version != version {
			return nil, fmt.Errorf("want version %s, but %s has version %s", version, at, found.Metadata.Version)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return found, err
		}
	}
	if c.ChartArgs.Repo == "" && c.ChartArgs.Registry == "" {
		return nil, f.errMissing(path.Join(c.chartHome, name))
	}
	if !f.download {
		return nil, fmt.Errorf("%w, and may not be downloaded unless %s is \"true\"", f.errMissing(path.Join(c.chartHome, name)), downloadVariable)
	}
	archive, err := c.fetch(ctx, f.items)
	if err != nil {
		return nil, err
	}
	return loader.LoadArchive(bytes.NewReader(archive))
}

// local returns a path without leading slashes and "..".
func local(name string) string { return strings.TrimPrefix(path.Join("/", name), "/") }

// directory loads a chart from a directory.
func (f files) directory(dir string) (*chart.Chart, error) {
	if f.root == nil {
		return nil, fs.ErrNotExist
	}
	if _, err := f.root.Stat(path.Join(dir, "Chart.yaml")); err != nil {
		return nil, err
	}
	rules, err := f.ignored(dir)
	if err != nil {
		return nil, err
	}
	var all []*loader.BufferedFile
	left := maxChart
	err = fs.WalkDir(f.root.FS(), dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		inChart := strings.TrimPrefix(name, dir+"/")
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case rules.Ignore(inChart, info) && entry.IsDir():
			return fs.SkipDir
		case entry.IsDir() || rules.Ignore(inChart, info):
			return nil
		}
		data, err := f.read(name, left)
		if err != nil {
			return err
		}
		left -= len(data)
		all = append(all, &loader.BufferedFile{Name: inChart, Data: data})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return loader.LoadFiles(all)
}

// ignored returns the rules for files that do not belong to the chart.
func (f files) ignored(dir string) (*ignore.Rules, error) {
	text, err := f.read(path.Join(dir, ignore.HelmIgnore), maxChart)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rules, err := ignore.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(dir, ignore.HelmIgnore), err)
	}
	rules.AddDefaults()
	return rules, nil
}

func (f files) archive(name string) (*chart.Chart, error) {
	data, err := f.read(name, maxChart)
	if err != nil {
		return nil, err
	}
	return loader.LoadArchive(bytes.NewReader(data))
}

// read reads a file of at most limit bytes.
func (f files) read(name string, limit int) ([]byte, error) {
	if f.root == nil {
		return nil, fs.ErrNotExist
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read from
	data, err := readAtMost(file, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

func readAtMost(from io.Reader, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, int64(limit)+1))
	if err == nil && len(data) > limit {
		err = fmt.Errorf("more than the limit of %d bytes", limit)
	}
	return data, err
}
