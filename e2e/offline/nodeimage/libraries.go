// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"debug/elf"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/krmfn/krmfn/e2e/registry/ociimage"
)

// addProgram adds a program or library of the root file system, its interpreter, and every library that these load.
func (b *builder) addProgram(files ociimage.Files, path string) error {
	if _, ok := files[path]; ok {
		return nil
	}
	// Links are followed: the copy has the name that is asked for.
	source, err := filepath.EvalSymlinks(b.path(path))
	if err != nil {
		return err
	}
	files[path] = ociimage.File{Source: source}
	program, err := elf.Open(source)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer program.Close()
	libraries, err := program.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, library := range libraries {
		if err := b.addLibrary(files, library); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return b.addInterpreter(files, program)
}

func (b *builder) addLibrary(files ociimage.Files, name string) error {
	source, err := b.library(name)
	if err != nil {
		return err
	}
	path, err := filepath.Rel(b.root, source)
	if err != nil {
		return err
	}
	return b.addProgram(files, path)
}

// addInterpreter adds the dynamic linker, a library too, at the path by which a program names it.
func (b *builder) addInterpreter(files ociimage.Files, program *elf.File) error {
	section := program.Section(".interp")
	if section == nil {
		return nil
	}
	data, err := section.Data()
	if err != nil {
		return err
	}
	path := strings.Trim(string(data), "/\x00")
	source, err := b.library(filepath.Base(path))
	if err != nil {
		return err
	}
	files[path] = ociimage.File{Source: source}
	return nil
}

// library is where a library is on this machine.
func (b *builder) library(name string) (string, error) {
	found, err := filepath.Glob(b.path("usr/lib/*-linux-gnu", name))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("needs the library %s, which is there %d times", name, len(found))
	}
	return found[0], nil
}
