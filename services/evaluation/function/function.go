// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package function runs KRM functions that are written in Go: in process over a ResourceList in YAML ([Run]) or in memory
// ([Function.Apply]), and as programs of their own ([Main]).
//
// Parsing and printing are those of the functions SDK (github.com/kptdev/krm-functions-sdk/go/fn).
package function

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/services/evaluation/traits"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Function is one KRM function.
//
// A Function is a value: it holds no state between calls, and its methods and Process may be called concurrently. Its JSON form has what
// callers need to know of a function that another program evaluates.
type Function struct {
	// Name is the function's name in the catalog and the base name of its image, such as "set-labels".
	Name string `json:"name"`

	// Version is the release of the catalog's function whose behaviour this implementation has, such as "v0.4.5".
	Version string `json:"version"`

	// Releases are other releases of the catalog's function, in order. Constraints of versions are resolved to them, too, where no
	// registry can be asked: so what is asked for does not depend on the version that is implemented.
	Releases []string `json:"releases,omitempty"`

	// Stands is the function, with its version, that stands in for this one, such as "kubeconform v0.1.1", and behaves as Version
	// of this one does. Reports name it. It is "" for a function that is itself.
	Stands string `json:"stands,omitempty"`

	// Summary says in one line, without a full stop, what the function does.
	Summary string `json:"-"`

	// Heavy says that what the function links takes long to initialise. A program that is started for every evaluation
	// does better without it.
	Heavy bool `json:"-"`

	// Config says which functionConfig forms the function takes, one per line. It is printed by --help.
	Config string `json:"-"`

	// Process evaluates the function over a list, in place. It returns false when the function fails with the reason
	// among the results, or an error when the reason is not among them. The list is printed in either case.
	//
	// A Process that can run long looks at ctx and returns its error. The FunctionConfig of the list is never nil; it
	// is empty when none was given.
	Process func(ctx context.Context, rl *fn.ResourceList) (bool, error) `json:"-"`

	// KeepsList says that the list comes out as it went in but for what Process changes: items in their order, apiVersion, an
	// empty list of items as "items: []". It holds for the functions of the catalog that are built on kyaml's framework. The
	// list of others comes out as the SDK prints it: sorted, and without items where it has none.
	KeepsList bool `json:"-"`

	// Unshared says that Process never puts one YAML node into two places: those who keep the list in memory need no copies
	// of its items to change one of them for itself.
	Unshared bool `json:"-"`

	// Traits are what the function declares of itself. One that declares Worker answers many calls in one process if it is asked
	// to, one after the other: Process leaves nothing behind that another call could see.
	Traits traits.Traits `json:"-"`

	// ProcessMemory is the most memory, in bytes, that a process of its own may have for the function; 0 for no limit.
	// It is for functions whose users can ask for any amount.
	ProcessMemory uint64 `json:"-"`
}

// Tags are the image tags that mean this very implementation, as opposed to an older or newer version of the function of the
// same name: the version, and the shorter tag that follows it, such as "v0.4".
func (f Function) Tags() []string { return reference.VersionTags(f.Version) }

// Implementation is name and version of what evaluates, for people.
func (f Function) Implementation() string { return cmp.Or(f.Stands, f.Name+" "+f.Version) }

// OwnsTag reports whether an image tag is one of the function's.
func (f Function) OwnsTag(tag string) bool { return slices.Contains(f.Tags(), tag) }

// Images are the references that the function answers to: its name under each prefix, "" for the name alone; with its own tags
// each if strict.
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

// Set is a set of functions, sorted by name. The zero value is empty. It must not be changed.
type Set []Function

// NewSet makes a set of functions. It panics on a function that is incomplete and on two of one name: both are errors of
// the program, not of its input, and must not wait for the first call to be seen.
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

// Lookup returns the function of a name, such as "set-labels", and whether there is one. The name is that of the
// function alone: no registry, no tag.
func (s Set) Lookup(name string) (Function, bool) {
	for _, f := range s {
		if f.Name == name {
			return f, true
		}
	}
	return Function{}, false
}

// OwnTags returns the tags of the function of a name that mean its implementation; nil where there is none.
func (s Set) OwnTags(name string) []string {
	if f, ok := s.Lookup(name); ok {
		return f.Tags()
	}
	return nil
}

// Tags returns the tags that are known of the function of a name, those of other releases too; nil where there is none.
func (s Set) Tags(name string) []string {
	f, _ := s.Lookup(name)
	return append(s.OwnTags(name), f.Releases...)
}
