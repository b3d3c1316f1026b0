// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/internal/images/ociimage"
)

// user is the user of function images. It is numeric, so that Kubernetes can verify that it is not root.
const user = "10001:10001"

// Functions pushes an image for each curated function, as prefix/NAME under each of the function's tags. The images are for this machine's
// architecture. They contain only the command, in a shared layer, and have labels that declare the capabilities of the functions.
func Functions(ctx context.Context, bin, prefix string) ([]Image, error) {
	images := make(map[string]v1.Image) // images by function
	declared := make(map[string]declaration)
	// FunctionsLight comes second, so that its functions, which start faster, replace the same functions in Functions.
	for _, program := range []string{binaries.Functions, binaries.FunctionsLight} {
		path := filepath.Join(bin, program)
		text, err := command.Run(ctx, path, "config")
		if err != nil {
			return nil, fmt.Errorf("curated functions: %w: try make build", err)
		}
		own, err := declarations([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("%s config: %w", path, err)
		}
		layer, err := ociimage.Layer(ociimage.Files{"function": ociimage.Copy(path, 0o755), "tmp": ociimage.Directory(0o1777)})
		if err != nil {
			return nil, err
		}
		for function, declares := range own {
			config := v1.Config{User: user, Entrypoint: []string{"/function", function}, Env: []string{"PATH=/"}, Labels: declares.labels}
			if images[function], err = Build(config, layer); err != nil {
				return nil, fmt.Errorf("image of function %s: %w", function, err)
			}
			declared[function] = declares
		}
	}
	var pushed []Image
	for function, img := range images {
		for _, tag := range declared[function].tags {
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

// declaration holds the tags and labels of a function's image.
type declaration struct {
	tags   []string
	labels map[string]string
}

// declarations reads the config file of a function runner. The file lists the tags of each function once per prefix of the catalog, so
// declarations removes duplicates.
func declarations(config []byte) (map[string]declaration, error) {
	var file struct {
		Functions []struct {
			Function              string
			Images                []string
			Worker, Deterministic bool
		}
	}
	if err := yaml.Unmarshal(config, &file); err != nil {
		return nil, err
	}
	declared := make(map[string]declaration)
	for _, f := range file.Functions {
		d := declaration{labels: map[string]string{
			"krmfn.dev/worker": strconv.FormatBool(f.Worker), "krmfn.dev/deterministic": strconv.FormatBool(f.Deterministic),
		}}
		for _, image := range f.Images {
			if tag := image[strings.LastIndex(image, ":")+1:]; !slices.Contains(d.tags, tag) {
				d.tags = append(d.tags, tag)
			}
		}
		declared[f.Function] = d
	}
	return declared, nil
}
