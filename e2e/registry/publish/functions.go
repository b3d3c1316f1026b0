// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/e2e/registry/ociimage"
)

// user is the one that functions run as, a number so that Kubernetes can tell that it is not root.
const user = "10001:10001"

// Functions pushes an image for each curated function, as prefix/NAME under each of its own tags. They are for this
// machine's architecture, share the layer that holds the command, and have nothing else in them.
func Functions(ctx context.Context, bin, prefix string) ([]Image, error) {
	images := make(map[string]v1.Image) // by function
	tags := make(map[string][]string)
	// The light one comes second and takes over what it has: it starts faster.
	for _, program := range []string{binaries.Functions, binaries.FunctionsLight} {
		path := filepath.Join(bin, program)
		text, err := command.Run(ctx, path, "config")
		if err != nil {
			return nil, fmt.Errorf("curated functions: %w: try make build", err)
		}
		own, err := ownTags([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("%s config: %w", path, err)
		}
		layer, err := ociimage.Layer(ociimage.Files{"function": {Source: path}, "tmp": {}})
		if err != nil {
			return nil, err
		}
		for function := range own {
			config := v1.Config{User: user, Entrypoint: []string{"/function", function}, Env: []string{"PATH=/"}}
			if images[function], err = ociimage.Image(runtime.GOARCH, config, layer); err != nil {
				return nil, fmt.Errorf("image of function %s: %w", function, err)
			}
			tags[function] = own[function]
		}
	}
	var pushed []Image
	for function, img := range images {
		for _, tag := range tags[function] {
			image, err := Push(ctx, prefix+"/"+function+":"+tag, img)
			if err != nil {
				return nil, err
			}
			pushed = append(pushed, image)
		}
	}
	slices.SortFunc(pushed, func(a, b Image) int { return strings.Compare(a.Reference, b.Reference) })
	return pushed, nil
}

// ownTags reads the tags of each function from the config file of a function runner, which has them once for each prefix
// of the catalog.
func ownTags(config []byte) (map[string][]string, error) {
	var file struct {
		Functions []struct {
			Function string
			Images   []string
		}
	}
	if err := yaml.Unmarshal(config, &file); err != nil {
		return nil, err
	}
	tags := make(map[string][]string)
	for _, f := range file.Functions {
		for _, image := range f.Images {
			tag := image[strings.LastIndex(image, ":")+1:]
			if !slices.Contains(tags[f.Function], tag) {
				tags[f.Function] = append(tags[f.Function], tag)
			}
		}
	}
	return tags, nil
}
