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

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// configFile is the configPath of a function that is evaluated by Function.
const configFile = "function-config"

// Function evaluates one function on resources like `kpt fn eval`. It honours the function's selectors and uses config, which
// may be nil, instead of the function's own functionConfig. Input and output resources have no package annotation, because they
// belong to one directory regardless of packages in it. Path and index annotations of the output have the same keys as those of
// the input, or are absent if the input has none. Function uses the options Evaluator, Exec, ImagePrefix, Tags, AllowDeletion
// and Observe. It does not add a tag to an image without tag and digest.
//
// The returned renderstatus.Function describes the run, also on failure. Errors are worded as in Package but without levels. On
// error, the returned resources are nil.
func Function(ctx context.Context, f kptfilev1.Function, config *yaml.RNode, resources []*yaml.RNode, options Options) ([]*yaml.RNode, renderstatus.Function, error) {
	options = options.complete()
	record := renderstatus.Function{Package: ".", Name: f.Name}
	evaluator := options.Evaluator
	if f.Exec != "" {
		record.Exec, evaluator = f.Exec, options.Exec
		if evaluator == nil {
			err := errors.New("there is no evaluator for commands")
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

// bareReference returns the reference of a function's image without adding a default tag.
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
