// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package traits has what a function declares of itself, so that it may be run in a faster way. A function that declares nothing
// runs as KRM functions expect: one process for each call.
package traits

import "fmt"

// The labels of an image, and the annotations of a FunctionConfig object, that declare traits. Values are "true" and "false".
const (
	// WorkerLabel declares Traits.Worker.
	WorkerLabel = "krmfn.dev/worker"
	// DeterministicLabel declares Traits.Deterministic.
	DeterministicLabel = "krmfn.dev/deterministic"
	// StandbyLabel with the value "false" declares Traits.NoStandby.
	StandbyLabel = "krmfn.dev/standby"
)

// Traits are those of one function. The zero value declares nothing.
type Traits struct {
	// Worker says that one process of the function answers many calls, over the protocol of workers, and that no call sees anything
	// of another.
	Worker bool `json:"worker,omitempty"`
	// Deterministic says that the function makes the same output of the same input each time, so that an answer may be kept.
	Deterministic bool `json:"deterministic,omitempty"`
	// NoStandby says that no process of the function may be started before its call comes: it reads the clock, or what else
	// changes, before it reads its input.
	NoStandby bool `json:"noStandby,omitempty"`
}

// And returns the traits of a function that has several builds, one for each platform: it is a worker, or deterministic, only if every
// build is, and gets no standby processes if one build asks for none.
func (t Traits) And(other Traits) Traits {
	return Traits{
		Worker: t.Worker && other.Worker, Deterministic: t.Deterministic && other.Deterministic, NoStandby: t.NoStandby || other.NoStandby,
	}
}

// Only returns those of labels that declare traits; nil for none.
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

// Parse returns the traits that labels declare over those of base. The error names the first label, in the order of their names,
// whose value is neither "true" nor "false"; the other labels count nevertheless.
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
