// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package build creates images of functions without a container engine: a single program, on an empty base or on another image. Equal
// programs, bases and labels give equal digests.
package build

import (
	"fmt"
	"maps"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/internal/images/ociimage"
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
	if o.Base == nil && program.Interpreter != "" {
		return nil, fmt.Errorf("%s needs %s, which an empty image lacks: build it with CGO_ENABLED=0, or set a base image", program.File, program.Interpreter)
	}
	var base v1.Image
	var config v1.Config
	if o.Base != nil {
		var err error
		if base, err = o.Base(program.Platform); err != nil {
			return nil, err
		}
		file, err := base.ConfigFile()
		if err != nil {
			return nil, err
		}
		config = *file.Config.DeepCopy()
	}
	config.User, config.WorkingDir = user, "/"
	config.Entrypoint, config.Cmd = []string{"/" + program.Name}, nil
	if config.Labels == nil {
		config.Labels = map[string]string{}
	}
	maps.Copy(config.Labels, o.Labels)
	layer, err := ociimage.Layer(ociimage.Files{program.Name: ociimage.Bytes(program.Content, 0o555), "tmp": ociimage.Directory(0o1777)})
	if err != nil {
		return nil, err
	}
	return ociimage.Image{
		Base: base, Platform: program.Platform, CreatedBy: "krmfn create image", Config: config, Layers: []v1.Layer{layer},
	}.Build()
}
