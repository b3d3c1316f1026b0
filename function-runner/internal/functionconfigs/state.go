// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfigs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Rules interpret the objects for this function runner.
type Rules struct {
	// DefaultPrefix is the image prefix of objects without prefixes.
	DefaultPrefix string
	// Reference returns the reference that pods pull for an image in a call.
	Reference func(image string) (string, error)
	// Executable returns the path of the named executable, or why it is not executable. Nil disables executables. All replicas must
	// return the same error text, because it is written to the status.
	Executable func(name string) (path string, err error)
	// InitContainer reports whether function pods have an init container.
	InitContainer func() bool
}

// state is the combined content of all objects. It is immutable.
type state struct {
	functions []exec.Executable
	// pods holds the settings by the repository of the reference.
	pods map[string]functionconfig.Settings
	// warm holds the references that need pods, sorted.
	warm []string
	// verdicts holds the verdicts on the objects, by name.
	verdicts map[string]*verdict
}

// verdict is the report for the status of an object.
type verdict struct {
	object   *unstructured.Unstructured
	problems []string
}

// builder builds a state. If several objects have the same image, the oldest one applies, so that all replicas agree.
type builder struct {
	*Rules
	state *state
	// executables maps references to the objects with their executables. owners maps repositories to the objects with their settings.
	executables, owners map[string]string
}

func newState(rules *Rules, objects []*unstructured.Unstructured) *state {
	b := &builder{
		Rules: rules, state: &state{pods: map[string]functionconfig.Settings{}, verdicts: map[string]*verdict{}},
		executables: map[string]string{}, owners: map[string]string{},
	}
	objects = slices.SortedFunc(slices.Values(objects), func(a, b *unstructured.Unstructured) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), strings.Compare(a.GetName(), b.GetName()))
	})
	var pods []func()
	for _, object := range objects {
		v := &verdict{object: object}
		b.state.verdicts[object.GetName()] = v
		if object.GetDeletionTimestamp() != nil {
			continue
		}
		o, problems := functionconfig.Decode(object)
		for _, problem := range problems {
			v.problem("%v", problem)
		}
		repositories, invalid := o.Repositories(b.DefaultPrefix)
		for _, err := range invalid {
			v.problem("%v", err)
		}
		if o.Binary != nil && b.Executable != nil && o.Image != "" {
			b.binary(&o, repositories, v)
		}
		if o.Pod == nil && o.Declared != nil {
			o.Pod = &functionconfig.PodExecutor{Settings: functionconfig.Settings{Declared: o.Declared}}
		}
		if o.Pod != nil {
			// b.executables is complete only after all objects were processed.
			pods = append(pods, func() { b.pod(o.Pod, repositories, v) })
		}
	}
	for _, pod := range pods {
		pod()
	}
	slices.Sort(b.state.warm)
	b.state.warm = slices.Compact(b.state.warm)
	return b.state
}

// problem returns an error that names the objects with problems, or nil if there are none.
func (s *state) problem() error {
	var names []string
	for name, v := range s.verdicts {
		if len(v.problems) > 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return fmt.Errorf("%w: %s", errProblems, strings.Join(names, ", "))
}

var errProblems = errors.New("FunctionConfig objects have problems")

func (v *verdict) problem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// binary registers the executable of an object for each of its references.
func (b *builder) binary(o *functionconfig.Object, repositories []string, v *verdict) {
	switch {
	case o.Binary.Path == "":
		v.problem("spec.binaryExecutor.path is missing: name an executable")
		return
	case len(o.Binary.Tags) == 0:
		v.problem("spec.binaryExecutor.tags is empty: name the tags that the executable answers to")
		return
	}
	path, err := b.Executable(o.Binary.Path)
	if err != nil {
		v.problem("spec.binaryExecutor.path: %v", err)
		return
	}
	f := exec.Executable{Name: reference.BaseName(o.Image), Path: path, Implementation: path[strings.LastIndexByte(path, '/')+1:], Declared: o.Declared}
	own := v.object.GetName()
	for _, repository := range repositories {
		for _, tag := range o.Binary.Tags {
			reference, err := functionconfig.Tagged(repository, tag)
			if err != nil {
				v.problem("spec.binaryExecutor: %v", err)
				continue
			}
			owner, taken := b.executables[reference]
			if taken && owner != own {
				v.problem("spec.binaryExecutor: %s has the executable of the older FunctionConfig %s", reference, owner)
			}
			if !taken {
				b.executables[reference] = own
				f.Images = append(f.Images, reference)
			}
		}
	}
	if len(f.Images) > 0 {
		b.state.functions = append(b.state.functions, f)
	}
}

// pod registers the pod settings of an object for each of its repositories.
func (b *builder) pod(pod *functionconfig.PodExecutor, repositories []string, v *verdict) {
	own := v.object.GetName()
	for i, repository := range repositories {
		pulled, err := b.Reference(repository)
		if err != nil {
			v.problem("spec.podExecutor: %v", err)
			continue
		}
		if owner, taken := b.owners[pulled]; taken && owner != own {
			v.problem("spec.podExecutor: the pods of %s are as the older FunctionConfig %s has them", repository, owner)
			continue
		}
		b.owners[pulled], b.state.pods[pulled] = own, pod.Settings
		if i == 0 {
			b.warm(pod.Tags, repository, v)
		}
	}
	if o := pod.Overrides; o != nil && !o.InitContainer.IsZero() && !b.InitContainer() {
		v.problem("spec.podExecutor.templateOverrides.initContainer does not apply: function pods have no init container here")
	}
}

// warm requests pods for the tags of a repository that have no executable.
func (b *builder) warm(tags []string, repository string, v *verdict) {
	for _, tag := range tags {
		reference, err := functionconfig.Tagged(repository, tag)
		if err != nil {
			v.problem("spec.podExecutor: %v", err)
			continue
		}
		if _, executable := b.executables[reference]; executable {
			continue
		}
		if pulled, err := b.Reference(reference); err == nil {
			b.state.warm = append(b.state.warm, pulled)
		}
	}
}
