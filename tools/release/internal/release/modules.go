// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"

	"github.com/krmfn/krmfn/tools/release/internal/checkout"
	"github.com/krmfn/krmfn/tools/release/internal/modules"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

// module writes the zip file of a Go module at the commit, in the format of module proxies.
func (m *maker) module(ctx context.Context, name string) error {
	if err := m.checkModule(ctx, name); err != nil {
		return err
	}
	version := m.versions.Modules[name]
	f := releaseFile{file: path.Base(modules.Path(name)) + "-" + version + ".zip", kind: "Go module"}
	out, err := os.Create(m.path(f.file))
	if err != nil {
		return err
	}
	err = zip.CreateFromVCS(out, module.Version{Path: modules.Path(name), Version: version}, m.Root, "HEAD", strings.TrimPrefix(name, modules.Root))
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	if f.digest, err = dirhash.HashZip(m.path(f.file), dirhash.Hash1); err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	return m.add(f)
}

// checkModule returns an error if the module's version was already released with other content, or if the module requires a version of this
// repository's modules that is neither released nor part of this release. Builds of the checkout would not fail, because of the replace
// directives.
func (m *maker) checkModule(ctx context.Context, name string) error {
	if changed, err := m.changed(ctx, name); err == nil && changed {
		return fmt.Errorf("module %s has changed since it was released: give it a new version in %s", name, versions.File)
	}
	required, err := modules.Required(filepath.Join(m.Root, name, "go.mod"))
	if err != nil {
		return err
	}
	for _, other := range slices.Sorted(maps.Keys(required)) {
		version := m.versions.Modules[other]
		if required[other] != version {
			return fmt.Errorf("module %s requires %s %s, but %s has %q: run make tidy",
				name, other, required[other], versions.File, version)
		}
		if slices.Contains(m.release.Modules, other) {
			continue
		}
		changed, err := m.changed(ctx, other)
		if err != nil {
			return fmt.Errorf("module %s requires %s %s, which is not released: %w", name, other, version, err)
		}
		if changed {
			return fmt.Errorf("module %s requires %s, which has changed since %s: give it a new version in %s", name, other, version, versions.File)
		}
	}
	return nil
}

// changed reports whether the files of a module differ between the commit and the tag of the module's version. A missing tag is an error.
func (m *maker) changed(ctx context.Context, name string) (bool, error) {
	return checkout.Changed(ctx, m.Root, modules.Tag(name, m.versions.Modules[name]), modules.Files(name)...)
}
