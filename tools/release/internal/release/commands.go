// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/krmfn/krmfn/internal/archive"
	"github.com/krmfn/krmfn/tools/release/internal/checkout"
	"github.com/krmfn/krmfn/tools/release/internal/programs"
)

// command is the command that users install.
const command = "krmfn"

// buildAll builds all programs for the architectures of images, and writes the certificate bundle.
func (m *maker) buildAll(ctx context.Context) error {
	if err := os.WriteFile(filepath.Join(m.Work, "ca-certificates.crt"), m.Authorities, 0o644); err != nil {
		return err
	}
	from := programs.Builder{Root: m.Root, Line: m.GoBuild}
	for _, arch := range m.Arches {
		platform := programs.Platform{OS: "linux", Arch: arch}
		for _, p := range m.programs {
			fmt.Fprintf(m.Log, "build %s %s for %s\n", p.Name, p.Version, platform)
			if _, err := from.Build(ctx, p, platform, m.directory(platform)); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare builds the programs of one architecture again, from a copy of the checkout in another directory. The programs must not depend on
// the directory.
func (m *maker) compare(ctx context.Context) (err error) {
	temp, err := os.MkdirTemp("", "krmfn-compare-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	root := filepath.Join(temp, "a", "copy")
	if err := checkout.Copy(ctx, m.Root, root); err != nil {
		return err
	}
	platform := programs.Platform{OS: "linux", Arch: m.Arches[0]}
	for _, p := range m.programs {
		again, err := programs.Builder{Root: root, Line: m.GoBuild}.Build(ctx, p, platform, temp)
		if err != nil {
			return err
		}
		if err := checkEqual(filepath.Join(m.directory(platform), p.Name), again); err != nil {
			return fmt.Errorf("program %s for %s: %w", p.Name, platform, err)
		}
	}
	fmt.Fprintf(m.Log, "Built for %s in two directories: all %d programs are identical.\n", platform, len(m.programs))
	return nil
}

func checkEqual(first, second string) error {
	a, err1 := programs.Sum(first)
	b, err2 := programs.Sum(second)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if a != b {
		return fmt.Errorf("a build in another directory differs: sha256 %s and %s", a, b)
	}
	return nil
}

// archives writes an archive of the command for each platform.
func (m *maker) archives(ctx context.Context) error {
	program := programs.Program{Name: command, Dir: command, Version: m.versions.Images[command]}
	license, err := os.ReadFile(filepath.Join(m.Root, "LICENSE"))
	if err != nil {
		return err
	}
	for _, platform := range m.Platforms {
		file, err := programs.Builder{Root: m.Root, Line: m.GoBuild}.Build(ctx, program, platform, m.directory(platform))
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var buf bytes.Buffer
		err = archive.TarGz(&buf, m.source.Time, []archive.File{
			{Name: "LICENSE", Mode: 0o644, Data: license}, {Name: command, Mode: 0o755, Data: data},
		})
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%s-%s-%s.tar.gz", command, program.Version, platform.OS, platform.Arch)
		if err := m.write(releaseFile{file: name, kind: "command"}, buf.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
