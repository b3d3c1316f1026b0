// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package traits has what a function declares of itself, so that it may be run in a faster way. A function that declares nothing
// runs as KRM functions expect: one process for each call.
package traits

import (
	"fmt"
	"strconv"
)

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
	Worker bool
	// Deterministic says that the function makes the same output of the same input each time, so that an answer may be kept.
	Deterministic bool
	// NoStandby says that no process of the function may be started before its call comes: it reads the clock, or what else
	// changes, before it reads its input.
	NoStandby bool
}

// Parse returns the traits that labels declare over those of base. The error names a label whose value is neither "true" nor
// "false"; the other labels count nevertheless.
func Parse(base Traits, labels map[string]string) (Traits, error) {
	t, standby := base, !base.NoStandby
	var wrong error
	for label, trait := range map[string]*bool{WorkerLabel: &t.Worker, DeterministicLabel: &t.Deterministic, StandbyLabel: &standby} {
		text, ok := labels[label]
		if !ok {
			continue
		}
		value, err := strconv.ParseBool(text)
		if err != nil {
			wrong = fmt.Errorf("label %s is %q, want true or false", label, text)
			continue
		}
		*trait = value
	}
	t.NoStandby = !standby
	return t, wrong
}
