// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"context"
	"errors"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
	"github.com/krmfn/krmfn/services/render/resource"
)

// configFile stands for the functionConfig of a function that belongs to no pipeline.
const configFile = "function-config"

// Function evaluates one function over resources, as `kpt fn eval` does: with its selectors, and with the functionConfig
// given, nil for none, in the place of its own. The resources belong to one directory, whatever packages it has: they are not
// annotated with a package, and neither are those that come out. Annotations of path and index come out in the forms in which
// the function's resources have them: none where none of them has any. Of the options, Evaluator, Exec, ImagePrefix, Tags,
// AllowDeletion and Observe count. An image without tag and digest stays without.
//
// The function in the result tells how it went, on failure too. The error is worded as in Package, but has no levels; the
// resources are nil then.
func Function(ctx context.Context, f kptfilev1.Function, config *yaml.RNode, resources []*yaml.RNode, options Options) ([]*yaml.RNode, renderstatus.Function, error) {
	options = options.complete()
	record := renderstatus.Function{Package: ".", Name: f.Name}
	evaluator := options.Evaluator
	if f.Exec != "" {
		record.Exec, evaluator = f.Exec, options.Exec
		if evaluator == nil {
			err := errors.New("no evaluator runs commands")
			record.SetFailure(err.Error())
			return nil, record, err
		}
	} else {
		ref, err := bareReference(ctx, &f, options)
		record.Image = cmp.Or(ref, f.Image)
		if err != nil {
			record.SetFailure(err.Error())
			return nil, record, err
		}
	}
	f.ConfigMap, f.ConfigPath = nil, ""
	p := newPipeline(&node{pkg: &packages.Package{}, dir: "."}, resources, nil, options, options.Observe)
	p.keepInput = true
	if config != nil {
		f.ConfigPath, p.configs = configFile, configs{configFile: config}
	}
	s := &step{spec: &f, evaluator: evaluator, record: record}
	output, err := p.evaluate(ctx, s)
	if err != nil {
		return nil, s.record, err
	}
	for _, r := range output {
		resource.ClearAnnotations(r, resource.PackageAnnotation)
	}
	return output, s.record, nil
}

// bareReference returns the reference of a function, without the default tag.
func bareReference(ctx context.Context, f *kptfilev1.Function, options Options) (string, error) {
	if f.Tag != "" {
		return resolveImages(ctx, slices.Values([]*kptfilev1.Function{f}), options).of(f)
	}
	ref, err := reference.Resolve(f.Image, options.ImagePrefix)
	if err == nil {
		err = reference.Validate(ref)
	}
	return ref, err
}
