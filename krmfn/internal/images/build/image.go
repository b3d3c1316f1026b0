// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package build creates images of functions without a container engine: a single program, on an empty base or on another image. Equal
// programs, bases and labels give equal digests.
package build

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/krmfn/krmfn/internal/traits"
)

// user is the user nobody. Function pods do not run images as root.
const user = "65534:65534"

// Options configure images.
type Options struct {
	// Labels are the labels of the image. Package traits defines some.
	Labels map[string]string
	// Base returns the base image for a platform. If it is nil, there is none, and the program must be static.
	Base func(v1.Platform) (v1.Image, error)
}

// Validate checks the labels.
func (o Options) Validate() error {
	if _, err := traits.Parse(traits.Traits{}, o.Labels); err != nil {
		return fmt.Errorf("label %w", err)
	}
	return nil
}

// Image returns an image whose entrypoint is the program. It runs as nobody in the directory /, with an empty /tmp.
func Image(program Program, o Options) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if o.Base == nil && program.Interpreter != "" {
		return nil, fmt.Errorf("%s needs %s, which an empty image lacks: build it with CGO_ENABLED=0, or set a base image", program.File, program.Interpreter)
	}
	if o.Base != nil {
		var err error
		if base, err = o.Base(program.Platform); err != nil {
			return nil, err
		}
	}
	layer, err := layerOf(program)
	if err != nil {
		return nil, err
	}
	history := v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "krmfn create image"}
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: history})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created = v1.Time{Time: epoch}
	config.OS, config.Architecture, config.Variant = program.Platform.OS, program.Platform.Architecture, program.Platform.Variant
	config.Config.User, config.Config.WorkingDir = user, "/"
	config.Config.Entrypoint, config.Config.Cmd = []string{"/" + program.Name}, nil
	if config.Config.Labels == nil {
		config.Config.Labels = map[string]string{}
	}
	maps.Copy(config.Config.Labels, o.Labels)
	return mutate.ConfigFile(image, config)
}

// epoch is the time of all files and images, so that equal input gives an equal digest.
var epoch = time.Unix(0, 0).UTC()

// layerOf returns the layer with the program.
func layerOf(program Program) (v1.Layer, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, header := range []tar.Header{
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
		{Name: program.Name, Typeflag: tar.TypeReg, Mode: 0o555, Size: int64(len(program.Content))},
	} {
		header.ModTime = epoch
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
	}
	if _, err := w.Write(program.Content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// Index returns an index of the images of one function for several platforms.
func Index(images []v1.Image) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, image := range images {
		config, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: config.Platform()}})
	}
	return index, nil
}
