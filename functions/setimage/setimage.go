// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setimage

import (
	"context"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/api/filters/fieldspec"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/fieldspecs"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is set-image.
var Function = function.Function{
	Name:    "set-image",
	Version: "v0.1.1",
	Summary: "sets the name, tag or digest of a container image",
	Config: "v1 ConfigMap, data.name: the image; data.newName, data.newTag, data.digest: what it becomes\n" +
		"fn.kpt.dev/v1alpha1 SetImage, image: the same fields; additionalImageFields: more fields that hold images, " +
		"each with path, and as needed group, version and kind",
	Process: setImage,
}

// imageFields are the fields of Kubernetes' own kinds that hold images.
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

// setImage sets an image in every workload, local configuration too, and in the fields that the user adds. A resource
// that is not as its kind should be is an error result and a failure; the others are done nevertheless.
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

// apply changes the images of a resource. It counts those in Kubernetes' own fields that became another one, and all that
// are meant in the user's, where the definition of a custom resource has none.
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

// set changes the image in the fields of a resource. It returns how many fields had the image, and how many of them now
// have another value.
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
