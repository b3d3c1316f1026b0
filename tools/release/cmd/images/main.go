// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command images builds krmfn's container images from its static commands, without Docker and without a base image.
//
// The arguments are architectures. --binaries has a directory with the commands for each of them. The same commands, version and
// certificates give the same digests on every machine. Images whose main program has not been built are skipped.
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
	"github.com/krmfn/krmfn/internal/images/ociimage"
	"github.com/krmfn/krmfn/tools/release/internal/image"
)

func main() {
	binaries := flag.String("binaries", "build/linux", "`directory` with one directory of commands for each architecture")
	caBundle := flag.String("ca-bundle", "", "PEM `file` of the certificate authorities that images trust; none if empty")
	var out store
	flag.StringVar(&out.dir, "out", "build/images", "`directory` to write images to")
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

// run builds all images for each architecture, writes them to out, and prints a table of them to w.
func run(perArch map[string]image.Sources, out store, w io.Writer) error {
	if len(perArch) == 0 {
		return errors.New("no architecture: name at least one, such as images amd64 arm64")
	}
	built := make(map[string]map[string]v1.Image) // by name, then architecture
	for arch, from := range perArch {
		images, err := from.Images()
		if err != nil {
			return err
		}
		for _, i := range images {
			if !from.HasCommand(i) {
				fmt.Fprintf(w, "Skipped image %s for %s: %s does not have its program.\n", i.Name, arch, from.Binaries)
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
		return fmt.Errorf("no program has been built; make images builds them first: %w", fs.ErrNotExist)
	}
	return writeAll(built, out, w)
}

func writeAll(built map[string]map[string]v1.Image, out store, w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "IMAGE\tARCHITECTURES\tSIZE\tLAYOUT\tDIGEST")
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

// compressedSize returns the number of bytes that a pull of the image transfers.
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
	registry string // prefix of repositories, without a trailing slash
	version  string // tag
}

// write writes an image to the OCI image layout NAME, and for each architecture to a file NAME-ARCH.tar that `docker load` and
// `kind load image-archive` can read. It returns the digest of the index.
func (s store) write(repository string, perArch map[string]v1.Image) (v1.Hash, error) {
	ref, err := name.NewTag(s.registry + "/" + repository + ":" + s.version)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("image reference: %w", err)
	}
	arches := slices.Sorted(maps.Keys(perArch))
	images := make([]v1.Image, len(arches))
	for i, arch := range arches {
		images[i] = perArch[arch]
	}
	idx, err := ociimage.Index(images)
	if err != nil {
		return v1.Hash{}, err
	}
	dir := filepath.Join(s.dir, repository)
	// Writing to an existing layout would keep its old blobs.
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return v1.Hash{}, fmt.Errorf("empty the directory of the layout: %w", err)
	}
	if err := image.WriteLayout(dir, s.version, idx, nil); err != nil {
		return v1.Hash{}, fmt.Errorf("write layout %s: %w", dir, err)
	}
	for _, arch := range arches {
		file := filepath.Join(s.dir, repository+"-"+arch+".tar")
		if err := tarball.WriteToFile(file, ref, perArch[arch]); err != nil {
			return v1.Hash{}, fmt.Errorf("write %s: %w", file, err)
		}
	}
	return idx.Digest()
}
