// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package release builds a release as files in one directory: images, their bills of materials, the chart, Go modules, archives of the
// command, and checksums.
//
// goreleaser would build only the archives and the checksums. It gives everything in a release the same version, and does not check that
// builds are reproducible.
package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/tools/release/internal/chart"
	"github.com/krmfn/krmfn/tools/release/internal/checkout"
	"github.com/krmfn/krmfn/tools/release/internal/image"
	"github.com/krmfn/krmfn/tools/release/internal/programs"
	"github.com/krmfn/krmfn/tools/release/internal/sbom"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

// Options configure a release. Root must be absolute.
type Options struct {
	// Root is the root of the repository. Make deletes the content of Out before it writes the release there. Work keeps programs between
	// runs.
	Root, Out, Work string
	// Tag is the git tag. Empty means the tag of the chart's version.
	Tag string
	// Epoch is the timestamp of all files, in seconds since 1970. Empty means the time of the commit.
	Epoch string
	// Arches are the architectures of images.
	Arches []string
	// Platforms are the platforms of the command's archives.
	Platforms []programs.Platform
	// Commands are the directories of the commands. Images of other commands are skipped.
	Commands []string
	// GoBuild is the command line that builds commands: the field Line of programs.Builder.
	GoBuild []string
	// Authorities are the certificate authorities in images, in PEM format. AuthoritiesModule is the Go module that contains them.
	Authorities       []byte
	AuthoritiesModule sbom.Module
	// Log receives messages about progress and a table of the files.
	Log io.Writer
}

// maker is the state of one Make.
type maker struct {
	Options

	versions versions.Versions
	release  versions.Release
	source   checkout.Source
	programs []programs.Program
	images   []string          // images of the release, without the skipped ones
	digests  map[string]string // digests of the images that have been built, by name

	files []releaseFile
}

// Make builds a release.
func Make(ctx context.Context, o Options) error {
	m, err := newMaker(ctx, o)
	if err != nil {
		return err
	}
	m.announce()
	if err := m.buildAll(ctx); err != nil {
		return err
	}
	if err := m.compare(ctx); err != nil {
		return err
	}
	for _, name := range m.images {
		if err := m.image(name); err != nil {
			return err
		}
	}
	for _, name := range m.release.Modules {
		if err := m.module(ctx, name); err != nil {
			return err
		}
	}
	if slices.Contains(m.images, command) {
		if err := m.archives(ctx); err != nil {
			return err
		}
	}
	if m.release.Chart {
		if err := m.chart(); err != nil {
			return err
		}
	}
	return m.finish()
}

func newMaker(ctx context.Context, o Options) (*maker, error) {
	if len(o.Arches) == 0 {
		return nil, errors.New("no architecture: give at least one, such as amd64")
	}
	v, r, err := versions.ReadRelease(o.Root, o.Tag)
	if err != nil {
		return nil, err
	}
	// The compressors of images and archives are part of this program.
	if got := runtime.Version(); got != "go"+v.Go {
		return nil, fmt.Errorf("this is %s, but releases are built with go%s: set GOTOOLCHAIN=go%s", got, v.Go, v.Go)
	}
	m := &maker{Options: o, versions: v, release: r, digests: map[string]string{}}
	if m.source, err = checkout.Read(ctx, o.Root, o.Epoch); err != nil {
		return nil, err
	}
	if m.programs, err = programs.All(o.Commands, v); err != nil {
		return nil, err
	}
	for _, name := range m.release.Images {
		if slices.ContainsFunc(o.Commands, func(dir string) bool { return path.Base(dir) == name }) {
			m.images = append(m.images, name)
		}
	}
	if err := os.RemoveAll(o.Out); err != nil {
		return nil, err
	}
	return m, errors.Join(os.MkdirAll(o.Out, 0o755), os.MkdirAll(o.Work, 0o755))
}

// announce logs what the release contains, and what it does not contain.
func (m *maker) announce() {
	fmt.Fprintf(m.Log, "Release %s of commit %s (%s), built with go%s.\n",
		m.release.Tag, m.source.Revision, m.source.Time.Format("2006-01-02 15:04:05Z"), m.versions.Go)
	if strings.HasSuffix(m.source.Revision, checkout.Dirty) {
		fmt.Fprintln(m.Log, "The checkout has uncommitted changes: do not publish this release.")
	}
	for _, name := range m.release.Images {
		if !slices.Contains(m.images, name) {
			fmt.Fprintf(m.Log, "Skipped: image %s, whose command is not in --commands.\n", name)
		}
	}
	if m.release.Chart {
		for name, version := range m.versions.Differing() {
			fmt.Fprintf(m.Log, "Not part of this release: image %s, which has the tag %s/%s.\n", name, name, version)
		}
	}
}

// sources returns the content of images for an architecture.
func (m *maker) sources(arch string) image.Sources {
	return image.Sources{
		Binaries: m.directory(programs.Platform{OS: "linux", Arch: arch}), CABundle: filepath.Join(m.Work, "ca-certificates.crt"),
		Functions: functions.All(),
	}
}

func (m *maker) directory(p programs.Platform) string { return filepath.Join(m.Work, p.OS+"-"+p.Arch) }

func (m *maker) chart() error {
	packed, err := chart.Pack(filepath.Join(m.Root, "charts", "krmfn"), m.versions, m.digests, m.source.Time)
	if err != nil {
		return err
	}
	return m.write(releaseFile{file: packed.Name, kind: "chart"}, packed.Data)
}
