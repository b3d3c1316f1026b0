// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

import (
	"strings"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
	"github.com/krmfn/krmfn/services/images/reference"
)

// binary has the executable of an object answer to each of its references.
func (b *builder) binary(s *spec, repositories []string, v *verdict) {
	switch {
	case s.binary.path == "":
		v.problem("spec.binaryExecutor.path is missing: name an executable")
		return
	case len(s.binary.tags) == 0:
		v.problem("spec.binaryExecutor.tags is empty: name the tags that the executable answers to")
		return
	}
	path, err := b.Executable(s.binary.path)
	if err != nil {
		v.problem("spec.binaryExecutor.path: %v", err)
		return
	}
	f := exec.Executable{Name: reference.BaseName(s.image), Path: path, Implementation: path[strings.LastIndexByte(path, '/')+1:]}
	own := v.object.GetName()
	for _, repository := range repositories {
		for _, tag := range s.binary.tags {
			reference, err := tagged(repository, tag)
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

// pod has the pods of each of an object's repositories be as it says.
func (b *builder) pod(pod *podExecutor, repositories []string, v *verdict) {
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
		b.owners[pulled], b.state.pods[pulled] = own, pod.settings
		if i == 0 {
			b.warm(pod.tags, repository, v)
		}
	}
	if o := pod.settings.Overrides; o != nil && !o.InitContainer.IsZero() && !b.InitContainer() {
		v.problem("spec.podExecutor.templateOverrides.initContainer does not apply: function pods have no init container here")
	}
}

// warm has all tags of a repository get pods that no executable answers to.
func (b *builder) warm(tags []string, repository string, v *verdict) {
	for _, tag := range tags {
		reference, err := tagged(repository, tag)
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
