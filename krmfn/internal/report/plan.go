// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
)

// Plan is what a render would run; --plan prints it.
type Plan struct {
	// Packages are the packages, in the order in which they would be rendered.
	Packages []PlannedPackage `json:"packages"`
}

// PlannedPackage is a package and its pipeline.
type PlannedPackage struct {
	// Package is the directory of the package in the one that is rendered; "." for its root.
	Package string `json:"package"`
	// Name is the package's name for people: the names of the directories of the packages down to it.
	Name string `json:"name"`
	// Mutators and Validators are the functions, in the order in which they would run.
	Mutators   []PlannedFunction `json:"mutators"`
	Validators []PlannedFunction `json:"validators"`
}

// PlannedFunction is a function of a pipeline and where it would run. It has either Image or Exec.
type PlannedFunction struct {
	// Step is the function's place in the whole render, from 1.
	Step int `json:"step"`
	// Name is the name that the Kptfile gives the function; may be empty.
	Name string `json:"name,omitempty"`
	// Image is the resolved image; with Constraint, its repository.
	Image string `json:"image,omitempty"`
	// Constraint is the version constraint that the image's registry would be asked to resolve.
	Constraint string `json:"constraint,omitempty"`
	// Exec is the full command line.
	Exec string `json:"exec,omitempty"`
	// ConfigPath is the file of the functionConfig, ConfigMapKeys are the keys of one that the Kptfile has itself, sorted.
	ConfigPath    string   `json:"configPath,omitempty"`
	ConfigMapKeys []string `json:"configMapKeys,omitempty"`
	// Selectors and Exclude are the function's fields of these names in the Kptfile.
	Selectors []kptfilev1.Selector `json:"selectors,omitempty"`
	Exclude   []kptfilev1.Selector `json:"exclude,omitempty"`
	// Runtime is "builtin", "runner", "engine", "sandbox" or "exec"; "" where none would run the function, which Problem explains,
	// or where it depends on the tags in the registry.
	Runtime string `json:"runtime,omitempty"`
	// Implementation is what the runtime would run, as far as that is known.
	Implementation string `json:"implementation,omitempty"`
	// Warning is that the implementation has another version than the image's tag names.
	Warning string `json:"warning,omitempty"`
	// Problem is why the function would fail before it runs.
	Problem string `json:"problem,omitempty"`
}
