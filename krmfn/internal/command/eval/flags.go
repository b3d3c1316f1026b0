// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/services/images/reference"
)

// The values of --type.
const (
	typeMutator   = "mutator"
	typeValidator = "validator"
)

// flags say which function is evaluated, and with what.
type flags struct {
	image, exec, tag string
	fnConfig         string
	save             bool
	functionType     string
	match, exclude   *selector
	runner           *runner.Flags
	output           *output.Flags
	// includeMeta is a flag that kpt refuses, too.
	includeMeta bool
}

func addFlags(p *program.Program, set *pflag.FlagSet) *flags {
	f := &flags{runner: runner.AddFlags(p, set), output: output.AddFlags(set, "the directory itself, or stdout for other input")}
	set.StringVarP(&f.image, "image", "i", "", "image of the function")
	set.StringVar(&f.exec, "exec", "", "command to run on this machine as the function, instead of --image")
	set.StringVar(&f.tag, "tag", "", "tag to use instead of the image's; a version constraint, such as ~0.2, chooses the highest tag that satisfies it")
	set.StringVar(&f.fnConfig, "fn-config", "", "file with the functionConfig; if it is in the directory, the function does not get it as a resource")
	set.BoolVarP(&f.save, "save", "s", false, "add the function to the pipeline of the directory's Kptfile if it succeeds")
	set.StringVarP(&f.functionType, "type", "t", "", "list that --save adds the function to: mutator or validator")
	f.match = addSelector(set, "match", "pass only resources")
	f.exclude = addSelector(set, "exclude", "exclude resources")
	set.BoolVarP(&f.includeMeta, "include-meta-resources", "m", false, "")
	_ = set.MarkHidden("include-meta-resources")
	f.runner.AddContainerFlags(set, "network")
	f.runner.AddMachineFlags(set)
	return f
}

// validate checks the flags in the order in which kpt does.
func (f *flags) validate(inputs, values []string) error {
	for _, check := range []func() error{
		f.runner.Validate,
		f.validateSave,
		f.output.MakeResultsDir,
		f.output.Validate,
		func() error { return f.validateFunction(inputs, values) },
	} {
		if err := check(); err != nil {
			return failure.Usage(err)
		}
	}
	return nil
}

func (f *flags) validateSave() error {
	switch {
	case f.includeMeta:
		return errors.New("--include-meta-resources is no longer necessary because meta resources are now included by default")
	case f.save && f.functionType == "":
		return errors.New("--type must be specified if saving functions to Kptfile (--save=true)")
	case f.save && f.functionType != typeMutator && f.functionType != typeValidator:
		return errors.New("--type must be either `mutator` or `validator`")
	}
	return nil
}

func (f *flags) validateFunction(inputs, values []string) error {
	switch {
	case f.image == "" && f.exec == "":
		return errors.New("must specify --image or --exec")
	case len(inputs) > 1 && slices.ContainsFunc(inputs, func(name string) bool { return !isFile(name) }):
		return errors.New("0 or 1 arguments supported, function arguments go after '--'")
	case f.fnConfig != "" && len(values) > 0:
		return errors.New("function arguments can only be specified without function config file")
	}
	if _, err := configFromValues(values); err != nil {
		return err
	}
	if err := errors.Join(f.match.parse(), f.exclude.parse()); err != nil {
		return err
	}
	if f.image == "" {
		if f.runner.ForContainers() {
			return errors.New("--mount, --as-current-user, --network and --env can only be used with container functions")
		}
		return nil
	}
	if err := reference.Validate(f.image); err != nil {
		return err
	}
	if _, ok := reference.FunctionConstraint(f.image, f.tag, f.runner.ImagePrefix); ok {
		return nil
	}
	_, err := reference.ForFunction(f.image, f.tag, f.runner.ImagePrefix)
	return err
}

// function returns the function without its functionConfig.
func (f *flags) function() kptfilev1.Function {
	fn := kptfilev1.Function{Image: f.image, Tag: f.tag, Selectors: f.match.list(), Exclusions: f.exclude.list()}
	if f.image == "" {
		fn.Exec, fn.Tag = f.exec, ""
	}
	return fn
}

// selector is the flags that select resources: a resource must satisfy all that are given.
type selector struct {
	name                string
	selected            kptfilev1.Selector
	labels, annotations []string
}

func addSelector(flags *pflag.FlagSet, name, usage string) *selector {
	s := &selector{name: name}
	flags.StringVar(&s.selected.APIVersion, name+"-api-version", "", usage+" of this apiVersion")
	flags.StringVar(&s.selected.Kind, name+"-kind", "", usage+" of this kind")
	flags.StringVar(&s.selected.Name, name+"-name", "", usage+" of this name")
	flags.StringVar(&s.selected.Namespace, name+"-namespace", "", usage+" of this namespace")
	flags.StringArrayVar(&s.labels, name+"-labels", nil, usage+" with this label, KEY=VALUE; may be repeated")
	flags.StringArrayVar(&s.annotations, name+"-annotations", nil, usage+" with this annotation, KEY=VALUE; may be repeated")
	return s
}

func (s *selector) parse() error {
	for _, list := range []struct {
		flag   string
		values []string
		into   *map[string]string
	}{
		{s.name + "-labels", s.labels, &s.selected.Labels},
		{s.name + "-annotations", s.annotations, &s.selected.Annotations},
	} {
		for _, kv := range list.values {
			key, value, ok := strings.Cut(kv, "=")
			if !ok || key == "" {
				return fmt.Errorf("--%s must have keys and values separated by =, got %q", list.flag, kv)
			}
			if *list.into == nil {
				*list.into = map[string]string{}
			}
			(*list.into)[key] = value
		}
	}
	return nil
}

// list returns the selector; empty if no flag is given.
func (s *selector) list() []kptfilev1.Selector {
	if s.selected.IsEmpty() {
		return nil
	}
	return []kptfilev1.Selector{s.selected}
}
