// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package traits defines properties that a function can declare, so that its calls are faster. A function without declarations gets one
// process for each call, as KRM functions expect.
package traits

import "fmt"

// Labels of an image, and annotations of a FunctionConfig object, that declare traits. Values are "true" and "false".
const (
	// WorkerLabel declares Traits.Worker.
	WorkerLabel = "krmfn.dev/worker"
	// DeterministicLabel declares Traits.Deterministic.
	DeterministicLabel = "krmfn.dev/deterministic"
	// StandbyLabel with the value "false" declares Traits.NoStandby.
	StandbyLabel = "krmfn.dev/standby"
)

// Traits are the declarations of a function. The zero value declares nothing.
type Traits struct {
	// Worker declares that one process can answer many calls over the worker protocol, and that no call can observe another.
	Worker bool `json:"worker,omitempty"`
	// Deterministic declares that equal inputs have equal outputs, so that results can be cached.
	Deterministic bool `json:"deterministic,omitempty"`
	// NoStandby declares that the function must not be started before its call comes, because it reads the clock, or other changing
	// data, before its input.
	NoStandby bool `json:"noStandby,omitempty"`
}

// And returns the traits of a function with several builds, one per platform: it is a worker, or deterministic, only if all builds are,
// and has no standby processes if one build declares so.
func (t Traits) And(other Traits) Traits {
	return Traits{
		Worker: t.Worker && other.Worker, Deterministic: t.Deterministic && other.Deterministic, NoStandby: t.NoStandby || other.NoStandby,
	}
}

// Only returns the labels that declare traits, or nil if there are none.
func Only(labels map[string]string) map[string]string {
	var only map[string]string
	for _, label := range []string{DeterministicLabel, StandbyLabel, WorkerLabel} {
		if value, ok := labels[label]; ok {
			if only == nil {
				only = map[string]string{}
			}
			only[label] = value
		}
	}
	return only
}

// Parse returns the traits that labels declare; base applies to traits without a label. If a value is neither "true" nor "false", the
// error names the first such label in alphabetical order, and the other labels still apply.
func Parse(base Traits, labels map[string]string) (Traits, error) {
	t, standby := base, !base.NoStandby
	var wrong error
	for _, one := range []struct {
		label string
		trait *bool
	}{{DeterministicLabel, &t.Deterministic}, {StandbyLabel, &standby}, {WorkerLabel, &t.Worker}} {
		switch text, ok := labels[one.label]; {
		case !ok:
		case text == "true" || text == "false":
			*one.trait = text == "true"
		case wrong == nil:
			wrong = fmt.Errorf("%s is %q, want true or false", one.label, text)
		}
	}
	t.NoStandby = !standby
	return t, wrong
}
