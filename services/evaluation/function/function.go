// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package function defines and runs KRM functions written in Go.
//
// To write a function, declare a [Function] whose Process edits the items of a ResourceList. [Main] makes it a program for a function
// image. [Run] evaluates it in process on a ResourceList in YAML, and [Function.Apply] on a list in memory. [NewSet] collects functions for
// runtime.Builtin, so that a render evaluates them in its own process. Package golden tests a function with files.
//
// The package parses and prints like the functions SDK (github.com/kptdev/krm-functions-sdk/go/fn).
package function

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/internal/traits"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Function is a KRM function.
//
// A Function is a value without state between calls. Its methods and Process are safe for concurrent use. Its JSON form contains what a
// caller must know about a function that another program evaluates.
type Function struct {
	// Name is the function's name in the catalog and the last part of its image's name, such as "set-labels".
	Name string `json:"name"`

	// Version is the catalog release whose behaviour this implementation has, such as "v0.4.5".
	Version string `json:"version"`

	// Releases are other catalog releases, in ascending order. If no registry can be queried, version constraints are resolved against
	// these and Version, so that the selected version does not depend on which one is implemented.
	Releases []string `json:"releases,omitempty"`

	// Stands is name and version of a replacement that implements this function, such as "kubeconform v0.1.1". It behaves like Version
	// of this function. Reports contain it. Empty means that the function is not a replacement.
	Stands string `json:"stands,omitempty"`

	// Summary is a one-line description without a full stop.
	Summary string `json:"-"`

	// Heavy means that the function's libraries take long to initialise. A program that is started for each evaluation should not link
	// it.
	Heavy bool `json:"-"`

	// Config describes the forms of functionConfig that the function accepts, one per line. --help prints it.
	Config string `json:"-"`

	// Process evaluates the function on a list, in place. It returns false if the function failed and the results contain the reason,
	// or an error if they do not. The list is printed in either case.
	//
	// A long-running Process must check ctx and return its error. The list's FunctionConfig is never nil; it is empty if there is none.
	Process func(ctx context.Context, rl *fn.ResourceList) (bool, error) `json:"-"`

	// KeepsList means that the output list has the form of the input list: items in their order, the same apiVersion, and "items: []"
	// if there are none. Catalog functions that use kyaml's framework behave like this. Otherwise, the output is printed like the SDK
	// does: sorted, and without items if there are none.
	KeepsList bool `json:"-"`

	// Unshared means that Process never uses one YAML node in two places. A caller that keeps the list in memory can then modify an
	// item without copying it.
	Unshared bool `json:"-"`

	// Traits are the function's declarations. A function that declares Worker can answer many calls in one process, one at a time. Its
	// Process must not leave state behind that another call could observe.
	Traits Traits `json:"-"`

	// ProcessMemory is the memory limit, in bytes, of a separate process for the function. 0 means no limit. Set it for functions whose
	// input can make them allocate any amount.
	ProcessMemory uint64 `json:"-"`
}

// Traits are what a function declares about itself so that it can run faster. The zero value declares nothing: each call gets a process
// of its own.
type Traits = traits.Traits

// Tags returns the image tags of this implementation, as opposed to other versions: the version and its shorter form, such as "v0.4".
func (f Function) Tags() []string { return reference.VersionTags(f.Version) }

// Implementation returns the name and version of the implementation, for display.
func (f Function) Implementation() string { return cmp.Or(f.Stands, f.Name+" "+f.Version) }

// OwnsTag reports whether the image tag is in Tags.
func (f Function) OwnsTag(tag string) bool { return slices.Contains(f.Tags(), tag) }

// Images returns the image references of the function: its name with each prefix; the prefix "" means the name alone. If strict is set,
// each reference has one of the function's tags.
func (f Function) Images(strict bool, prefixes ...string) []string {
	var images []string
	for _, prefix := range prefixes {
		image := strings.TrimPrefix(prefix+"/"+f.Name, "/")
		if !strict {
			images = append(images, image)
			continue
		}
		for _, tag := range f.Tags() {
			images = append(images, image+":"+tag)
		}
	}
	return images
}

// Set is an immutable set of functions, sorted by name. The zero value is empty.
type Set []Function

// NewSet returns a set of functions. It panics if a function is incomplete or if two have the same name. These are programming errors,
// which should not remain unnoticed until the first call.
func NewSet(functions ...Function) Set {
	set := Set(slices.SortedFunc(slices.Values(functions), func(a, b Function) int { return strings.Compare(a.Name, b.Name) }))
	for i, f := range set {
		if f.Name == "" || strings.Count(f.Version, ".") != 2 || f.Summary == "" || f.Process == nil {
			panic(fmt.Sprintf("function %q needs a name, a version like v1.2.3, a summary and a Process", f.Name))
		}
		if i > 0 && set[i-1].Name == f.Name {
			panic(fmt.Sprintf("two functions are named %q", f.Name))
		}
	}
	return set
}

// Lookup returns the function with a name such as "set-labels", without registry and tag, and whether it exists.
func (s Set) Lookup(name string) (Function, bool) {
	for _, f := range s {
		if f.Name == name {
			return f, true
		}
	}
	return Function{}, false
}

// OwnTags returns the tags of the named function's implementation, or nil if it does not exist.
func (s Set) OwnTags(name string) []string {
	if f, ok := s.Lookup(name); ok {
		return f.Tags()
	}
	return nil
}

// Tags returns the known tags of the named function, including other releases, or nil if it does not exist.
func (s Set) Tags(name string) []string {
	f, _ := s.Lookup(name)
	return append(s.OwnTags(name), f.Releases...)
}
