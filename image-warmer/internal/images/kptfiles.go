// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"golang.org/x/sync/errgroup"

	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// kptfiles adds the functions of all pipelines below a directory. Like a render, it does not follow symbolic links.
func (f *finder) kptfiles(dir string) {
	packages := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil:
			f.unread(path, err)
			return nil
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Name() == kptfile.FileName && d.Type().IsRegular():
			packages++
			f.kptfile(path)
		}
		return nil
	})
	switch {
	case err != nil:
		f.unread(dir, fmt.Errorf("read --kptfiles: %w", err))
	case packages == 0:
		f.note("%s: no Kptfile in this directory or below", dir)
	}
}

func (f *finder) kptfile(path string) {
	content, err := readFile(path)
	if err != nil {
		f.unread(path, err)
		return
	}
	kf, err := kptfile.Parse(filepath.Dir(path), content)
	if err != nil {
		f.unread(path, err)
		return
	}
	if kf.Pipeline == nil {
		return
	}
	for _, list := range [][]kptfilev1.Function{kf.Pipeline.Mutators, kf.Pipeline.Validators} {
		for i := range list {
			if list[i].Image != "" {
				f.function(&list[i])
			}
		}
	}
}

func (f *finder) function(function *kptfilev1.Function) {
	if c, ok := reference.FunctionConstraint(function.Image, function.Tag, f.Prefix); ok {
		if known := f.constraints[c.Repository]; !slices.Contains(known, c) {
			f.constraints[c.Repository] = append(known, c)
		}
		return
	}
	ref, err := reference.ForFunction(function.Image, function.Tag, f.Prefix)
	f.resolved(function.Image, ref, err)
}

// resolveConstraints adds the images that satisfy version constraints. It lists the tags of each repository once. Like a render, it ignores
// rewrites for the listing.
func (f *finder) resolveConstraints(ctx context.Context) {
	repositories := slices.Sorted(maps.Keys(f.constraints))
	type listing struct {
		tags []string
		err  error
	}
	listings := make([]listing, len(repositories))
	var group errgroup.Group
	group.SetLimit(f.Parallel)
	for i, repository := range repositories {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, f.Timeout)
			defer cancel()
			listings[i].tags, listings[i].err = f.Tags.Tags(ctx, repository)
			return nil
		})
	}
	_ = group.Wait()
	for i, repository := range repositories {
		if err := listings[i].err; err != nil {
			f.unread(repository, fmt.Errorf("list the tags of %s, for a version constraint: %w", repository, err))
			continue
		}
		for _, constraint := range f.constraints[repository] {
			ref, err := constraint.Resolve(listings[i].tags)
			f.resolved(repository+":"+constraint.Versions, ref, err)
		}
	}
}
