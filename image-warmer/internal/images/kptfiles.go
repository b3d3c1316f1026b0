// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// kptfiles takes the functions of all pipelines below a directory. Symbolic links are not followed, as in a render.
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
		f.note("%s: there is no Kptfile in this directory, or below", dir)
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
	if c, ok := reference.FunctionConstraint(function.Image, function.Tag, f.prefix); ok {
		if known := f.constraints[c.Repository]; !slices.Contains(known, c) {
			f.constraints[c.Repository] = append(known, c)
		}
		return
	}
	ref, err := reference.ForFunction(function.Image, function.Tag, f.prefix)
	f.resolved(function.Image, ref, err)
}
