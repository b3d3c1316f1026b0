// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command images builds krmfn's container images from its static commands, without Docker and without a base image.
//
// Its arguments are the architectures to build for, each a directory with the commands beneath that of --binaries. The
// same commands, version and certificates give the same digests, on any machine. Images whose command has not been built
// are left out.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/tools/release/internal/image"
	"github.com/krmfn/krmfn/tools/release/internal/ocilayout"
)

func main() {
	binaries := flag.String("binaries", "build/linux", "directory that has the commands in a directory for each architecture")
	caBundle := flag.String("ca-bundle", "", "PEM file of the certificates that images trust; none if empty")
	var out store
	flag.StringVar(&out.dir, "out", "build/images", "directory to write images to")
	flag.StringVar(&out.registry, "registry", "ghcr.io/krmfn", "prefix of the images' repositories")
	flag.StringVar(&out.version, "version", "dev", "tag of the images")
	flag.Parse()

	perArch := make(map[string]image.Sources)
	for _, arch := range flag.Args() {
		perArch[arch] = image.Sources{Binaries: filepath.Join(*binaries, arch), CABundle: *caBundle, Functions: functions.All()}
	}
	if err := run(perArch, out, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

// run builds all images, for each architecture from its sources, writes them to out, and says on w what it wrote.
func run(perArch map[string]image.Sources, out store, w io.Writer) error {
	if len(perArch) == 0 {
		return errors.New("no architecture: name at least one, as in: images amd64 arm64")
	}
	built := make(map[string]map[string]v1.Image) // by name, then architecture
	for arch, from := range perArch {
		images, err := from.Images()
		if err != nil {
			return err
		}
		for _, i := range images {
			if !from.HasCommand(i) {
				fmt.Fprintf(w, "There is no image %s for %s: %s has no such command.\n", i.Name, arch, from.Binaries)
				continue
			}
			img, err := i.Build(arch, image.Stamp{Version: out.version})
			if err != nil {
				return err
			}
			if built[i.Name] == nil {
				built[i.Name] = make(map[string]v1.Image)
			}
			built[i.Name][arch] = img
		}
	}
	if len(built) == 0 {
		return fmt.Errorf("no command of any image is there; make images builds them first: %w", fs.ErrNotExist)
	}
	return writeAll(built, out, w)
}

func writeAll(built map[string]map[string]v1.Image, out store, w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "IMAGE\tFOR\tSIZE\tLAYOUT\tDIGEST")
	for _, name := range slices.Sorted(maps.Keys(built)) {
		digest, err := out.write(name, built[name])
		if err != nil {
			return err
		}
		arches := slices.Sorted(maps.Keys(built[name]))
		size, err := compressedSize(built[name][arches[0]])
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s/%s:%s\t%s\t%.1f MB\t%s\t%s\n", out.registry, name, out.version,
			strings.Join(arches, ","), float64(size)/1e6, filepath.Join(out.dir, name), digest)
	}
	return table.Flush()
}

// compressedSize is what pulling an image transfers, in bytes.
func compressedSize(img v1.Image) (int64, error) {
	manifest, err := img.Manifest()
	if err != nil {
		return 0, fmt.Errorf("read manifest: %w", err)
	}
	size := manifest.Config.Size
	for _, layer := range manifest.Layers {
		size += layer.Size
	}
	return size, nil
}

type store struct {
	dir      string
	registry string // prefix of repositories, without the slash at the end
	version  string // tag
}

// write writes one image for all its architectures, each to a file NAME-ARCH.tar that `docker load` and
// `kind load image-archive` read, and all of them to an OCI image layout NAME. It returns the digest of the index.
func (s store) write(repository string, images map[string]v1.Image) (v1.Hash, error) {
	ref, err := name.NewTag(s.registry + "/" + repository + ":" + s.version)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("image reference: %w", err)
	}
	idx := image.Index(images)
	dir := filepath.Join(s.dir, repository)
	// A layout that is written to keeps its old blobs for ever.
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return v1.Hash{}, fmt.Errorf("empty the layout's directory: %w", err)
	}
	if err := ocilayout.Fill(dir, s.version, idx, nil); err != nil {
		return v1.Hash{}, fmt.Errorf("write layout %s: %w", dir, err)
	}
	for _, arch := range slices.Sorted(maps.Keys(images)) {
		file := filepath.Join(s.dir, repository+"-"+arch+".tar")
		if err := tarball.WriteToFile(file, ref, images[arch]); err != nil {
			return v1.Hash{}, fmt.Errorf("write %s: %w", file, err)
		}
	}
	return idx.Digest()
}
