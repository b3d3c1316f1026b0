// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package release makes what a release consists of, as files in one directory: images, their bills of materials, the chart,
// Go modules, the command for people, and checksums of all of them.
//
// Of these, goreleaser would make the archives of the command and the checksums. It has one version for all that a tag
// releases, and does not show that another directory gives the same bytes.
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

// Options say what to make. Root must be absolute.
type Options struct {
	// Root is the root of the repository, Out the directory to write to, which is emptied first, and Work one that keeps
	// programs from run to run.
	Root, Out, Work string
	// Tag is the tag in git; the chart's version where it is empty.
	Tag string
	// Epoch is the time of everything, in seconds since 1970; that of the commit where it is empty.
	Epoch string
	// Arches are the architectures of images.
	Arches []string
	// Platforms are the machines of people that the command krmfn is packed for.
	Platforms []programs.Platform
	// Commands are the directories of the commands that can be built. Images of others are left out.
	Commands []string
	// GoBuild is how commands are built, as in programs.Builder.
	GoBuild []string
	// Authorities are the certificates that images trust, PEM, and Data the modules that they come from.
	Authorities []byte
	Data        []sbom.Module
	// Log is told what was made.
	Log io.Writer
}

type maker struct {
	Options

	versions versions.Versions
	release  versions.Release
	source   checkout.Source
	programs []programs.Program
	images   []string          // of the release, without those that are left out
	digests  map[string]string // of the images that were made, by their names
	made     []made
}

// Make makes a release.
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
		return nil, errors.New("no architecture: name at least one, as in amd64")
	}
	v, r, err := versions.ReadRelease(o.Root, o.Tag)
	if err != nil {
		return nil, err
	}
	// What compresses images and archives is part of this program.
	if got := runtime.Version(); got != "go"+v.Go {
		return nil, fmt.Errorf("this is %s, and releases are made with go%s: set GOTOOLCHAIN=go%s", got, v.Go, v.Go)
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

// announce says what will be made, and what not.
func (m *maker) announce() {
	fmt.Fprintf(m.Log, "Release %s of commit %s (%s), built with go%s.\n",
		m.release.Tag, m.source.Revision, m.source.Time.Format("2006-01-02 15:04:05Z"), m.versions.Go)
	if strings.HasSuffix(m.source.Revision, checkout.Dirty) {
		fmt.Fprintln(m.Log, "The checkout has changes that are in no commit: this release is not for publishing.")
	}
	for _, name := range m.release.Images {
		if !slices.Contains(m.images, name) {
			fmt.Fprintf(m.Log, "Left out: image %s, as its command is not among those to build.\n", name)
		}
	}
	if m.release.Chart {
		for name, version := range m.versions.Differing() {
			fmt.Fprintf(m.Log, "Not part of it: image %s, which is released as %s/%s.\n", name, name, version)
		}
	}
}

// sources are where images for an architecture come from.
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
	return m.write(made{file: packed.Name, what: "chart"}, packed.Data)
}
