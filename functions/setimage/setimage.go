// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package setimage implements the function set-image.
package setimage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/api/filters/fieldspec"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/fieldspecs"
	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function set-image.
var Function = function.Function{
	Name:    "set-image",
	Version: "v0.1.1",
	Summary: "sets the name, tag or digest of a container image",
	Traits:  function.Traits{Worker: true, Deterministic: true},
	Config: "v1 ConfigMap, data.name: the image; data.newName, data.newTag, data.digest: what it becomes\n" +
		"fn.kpt.dev/v1alpha1 SetImage, image: the same fields; additionalImageFields: more fields that hold images, " +
		"each with path, and as needed group, version and kind",
	Process: setImage,
}

// imageFields are the image fields of Kubernetes' built-in kinds.
var imageFields = containerImages(fieldspecs.PodSpecs)

func containerImages(podSpecs []types.FieldSpec) []types.FieldSpec {
	fields := make([]types.FieldSpec, 0, 2*len(podSpecs))
	for _, spec := range podSpecs {
		for _, containers := range []string{"initContainers", "containers"} {
			fields = append(fields, types.FieldSpec{Gvk: spec.Gvk, Path: spec.Path + "/" + containers + "[]/image"})
		}
	}
	return fields
}

// setImage sets an image in every workload, including local configuration, and in additional fields. A resource with an invalid
// structure becomes an error result and a failure; other resources are still changed.
func setImage(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	change, ok := imageChangeOf(rl)
	if !ok {
		return false, nil
	}
	total := 0
	for _, item := range rl.Items {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		count, err := change.apply(item)
		if err != nil {
			rl.LogResult(fn.ErrorConfigObjectResult(err, item))
			ok = false
		}
		total += count
	}
	rl.Results.Infof("summary: updated a total of %d image(s)", total)
	return ok, nil
}

// apply changes the images of a resource. It counts changed images in Kubernetes' fields and all matching images in additional
// fields, except in custom resource definitions.
func (c imageChange) apply(item *fn.KubeObject) (count int, err error) {
	isDefinition := item.GetKind() == "CustomResourceDefinition"
	err = nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (bool, error) {
		meant, changed, err := c.set(root, imageFields)
		count = changed
		if err != nil || isDefinition {
			return meant > 0, err
		}
		more, _, err := c.set(root, c.fields)
		count += more
		return meant+more > 0, err
	})
	return count, err
}

// set changes the image in fields of a resource. meant is the number of matching fields, changed the number of those that have
// a new value.
func (c imageChange) set(root *yaml.Node, fields []types.FieldSpec) (meant, changed int, err error) {
	setValue := func(value *yaml.RNode) error {
		if value.IsNil() || value.IsTaggedNull() {
			return nil
		}
		if err := yaml.ErrorIfInvalid(value, yaml.ScalarNode); err != nil {
			return err
		}
		scalar := value.YNode()
		image, ok := c.of(scalar.Value)
		if !ok {
			return nil
		}
		meant++
		if image != scalar.Value {
			changed++
			nodes.SetText(scalar, image)
		}
		return nil
	}
	for _, field := range fields {
		filter := fieldspec.Filter{FieldSpec: field, SetValue: setValue}
		if _, err := filter.Filter(yaml.NewRNode(root)); err != nil {
			return meant, changed, err
		}
	}
	return meant, changed, nil
}

// imageChange is the parsed functionConfig.
type imageChange struct {
	Name    string `yaml:"name"`
	NewName string `yaml:"newName"`
	NewTag  string `yaml:"newTag"`
	Digest  string `yaml:"digest"`

	fields []types.FieldSpec // additional image fields
}

// imageVersion matches what may follow an image's name: a tag and a digest. Some tools use braces in them as placeholders.
var imageVersion = regexp.MustCompile(`^(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$`)

// of returns the new reference for an image. ok reports whether the image matches, which means that it has exactly this name
// and any version. Parts without a new value are kept, except that a new tag removes an old digest.
func (c imageChange) of(image string) (string, bool) {
	version, ok := strings.CutPrefix(image, c.Name)
	if !ok || !imageVersion.MatchString(version) {
		return "", false
	}
	switch {
	case c.Digest != "":
		version = "@" + c.Digest
	case c.NewTag != "":
		version = ":" + c.NewTag
	}
	return cmp.Or(c.NewName, c.Name) + version, true
}

// imageChangeOf parses the functionConfig of a list. It reports an error twice in the results, like the catalog's function.
func imageChangeOf(rl *fn.ResourceList) (change imageChange, ok bool) {
	if rl.FunctionConfig.IsEmpty() {
		rl.Results.Infof("`FunctionConfig` is not given")
	}
	change, err := parseImageChange(rl.FunctionConfig)
	var unknown unknownConfigError
	switch {
	case errors.As(err, &unknown):
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
		err = fmt.Errorf("function is terminated by %s: %w", rl.FunctionConfig.ShortString(), err)
	case err != nil:
		rl.Results.ErrorE(err)
		err = fmt.Errorf("function is terminated: %w", err)
	default:
		return change, true
	}
	rl.Results.ErrorE(err)
	return imageChange{}, false
}

// unknownConfigError reports an unsupported kind of functionConfig.
type unknownConfigError struct{ kind string }

func (e unknownConfigError) Error() string {
	return fmt.Sprintf("unknown FunctionConfig `%s`, expect SetImage", e.kind)
}

func parseImageChange(config *fn.KubeObject) (imageChange, error) {
	var (
		change imageChange
		err    error
	)
	switch {
	case config.IsEmpty():
	case config.GetAPIVersion() == "v1" && config.GetKind() == "ConfigMap":
		err = change.readData(config)
	case config.GetAPIVersion() == fn.KptFunctionAPIVersion && config.GetKind() == "SetImage":
		var typed struct {
			Image  imageChange       `yaml:"image"`
			Fields []types.FieldSpec `yaml:"additionalImageFields"`
		}
		if err := function.NodeOf(config).Decode(&typed); err != nil {
			return imageChange{}, fmt.Errorf("unable to read the FunctionConfig: %w", functionconfig.WithoutTypes(err))
		}
		change = typed.Image
		change.fields = typed.Fields
	default:
		return imageChange{}, unknownConfigError{config.GetKind()}
	}
	switch {
	case err != nil:
		return imageChange{}, err
	case change.Name == "":
		return imageChange{}, errors.New("must specify `name`")
	case change.NewName == "" && change.NewTag == "" && change.Digest == "":
		return imageChange{}, errors.New("must specify one of `newName`, `newTag`, or `digest`")
	}
	return change, nil
}

func (c *imageChange) readData(config *fn.KubeObject) error {
	texts, err := functionconfig.Data(config)
	if err != nil {
		return err
	}
	fields := map[string]*string{"name": &c.Name, "newName": &c.NewName, "newTag": &c.NewTag, "digest": &c.Digest}
	for _, name := range functionconfig.Keys(config) {
		field, ok := fields[name]
		if !ok {
			return fmt.Errorf("ConfigMap has wrong field name %s", name)
		}
		*field = texts[name]
	}
	return nil
}
