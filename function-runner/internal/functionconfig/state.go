// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
)

// Rules say what objects mean here.
type Rules struct {
	// DefaultPrefix is that of objects without prefixes.
	DefaultPrefix string
	// Reference returns what is pulled for an image that calls name.
	Reference func(image string) (string, error)
	// Executable returns the path of the program with a name, or says why it cannot be executed; nil where executables are not
	// run. Errors must be the same on all replicas.
	Executable func(name string) (path string, err error)
	// InitContainer tells whether function pods have an init container.
	InitContainer func() bool
}

// state is what all objects say. It does not change.
type state struct {
	functions []exec.Executable
	// pods has the settings by the repositories of references.
	pods map[string]Settings
	// warm are the references that are to have pods.
	warm []string
	// verdicts are on the objects, by name.
	verdicts map[string]*verdict
}

// verdict is what is to be told of an object.
type verdict struct {
	object   *unstructured.Unstructured
	problems []string
}

// builder makes a state. Of an image that several objects have, the oldest one's counts, on every replica.
type builder struct {
	*Rules
	state *state
	// executables has the references with executables, and owners which object the settings of a repository are of.
	executables, owners map[string]string
}

func newState(rules *Rules, objects []*unstructured.Unstructured) *state {
	b := &builder{
		Rules: rules, state: &state{pods: map[string]Settings{}, verdicts: map[string]*verdict{}},
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
		var s spec
		s, v.problems = decode(object)
		repositories := b.repositories(&s, v)
		if s.binary != nil && b.Executable != nil && s.image != "" {
			b.binary(&s, repositories, v)
		}
		if s.pod != nil {
			// What has an executable is known when all objects have been looked at.
			pods = append(pods, func() { b.pod(s.pod, repositories, v) })
		}
	}
	for _, pod := range pods {
		pod()
	}
	slices.Sort(b.state.warm)
	b.state.warm = slices.Compact(b.state.warm)
	return b.state
}

func (v *verdict) problem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}
