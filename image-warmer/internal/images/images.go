// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package images finds out which images there are to warm: those that are named, and those that files, packages and objects
// of the cluster name.
package images

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/krmfn/krmfn/services/images/reference"
)

// Config says where images are named.
type Config struct {
	// Images are references, PodCacheConfig a file, and Kptfiles directories; those that are empty do not count.
	Images         []string
	PodCacheConfig string
	Kptfiles       []string
	// FunctionConfigs has the FunctionConfig objects in Namespace; nil means that they do not count.
	FunctionConfigs dynamic.Interface
	Namespace       string
	// Prefix is put before images without a slash, and then Rewrites replace prefixes.
	Prefix   string
	Rewrites reference.Rewrites
	// Tags lists the tags of images, for the version constraints of Kptfiles: of Parallel repositories at once, within Timeout
	// for each. Where it is nil, version constraints are failures.
	Tags     TagLister
	Parallel int
	Timeout  time.Duration
}

// TagLister lists the tags of a repository, in any order. It is called by several goroutines at once, and must end with the
// context. A registry.Client is one.
type TagLister interface {
	Tags(ctx context.Context, repository string) ([]string, error)
}

// Failure is an image that cannot be warmed, or a place that may name images and cannot be read.
type Failure struct {
	// Image is the reference, or the place, as it was given.
	Image string
	Err   error
}

// Found is what there is.
type Found struct {
	// References are sorted, and as function runners pull them; each is there once.
	References []string
	// Failures are what does not count.
	Failures []Failure
	// Complete says that every place was read: what is not among the references is named nowhere.
	Complete bool
	// Notes are for people.
	Notes []string
}

// Collect returns the images that are named. What goes wrong with one of them, or in one place, leaves the others alone.
func Collect(ctx context.Context, c Config) Found {
	f := &finder{
		prefix: c.Prefix, rewrites: c.Rewrites, references: map[string]bool{}, constraints: map[string][]reference.Constraint{},
		found: Found{Complete: true},
	}
	for _, name := range c.Images {
		f.add(name)
	}
	if c.PodCacheConfig != "" {
		f.podCacheConfig(c.PodCacheConfig)
	}
	for _, dir := range c.Kptfiles {
		f.kptfiles(dir)
	}
	if c.FunctionConfigs != nil {
		f.functionConfigs(ctx, c.FunctionConfigs, c.Namespace)
	}
	f.resolveConstraints(ctx, c)
	f.found.References = slices.Sorted(maps.Keys(f.references))
	return f.found
}

type finder struct {
	prefix     string
	rewrites   reference.Rewrites
	references map[string]bool
	// constraints are by repository.
	constraints map[string][]reference.Constraint
	found       Found
}

// add takes an image as it is named in calls.
func (f *finder) add(name string) {
	ref, err := reference.Resolve(name, f.prefix)
	if err == nil {
		err = reference.Validate(ref)
	}
	f.resolved(name, ref, err)
}

// resolved takes a reference, or why there is none.
func (f *finder) resolved(name, ref string, err error) {
	if err != nil {
		f.fail(name, err)
		return
	}
	f.references[f.rewrites.Apply(ref)] = true
}

// fail notes that an image cannot be warmed. A place may name it a hundred times.
func (f *finder) fail(name string, err error) {
	failure := Failure{name, err}
	if !slices.ContainsFunc(f.found.Failures, func(before Failure) bool {
		return before.Image == name && before.Err.Error() == err.Error()
	}) {
		f.found.Failures = append(f.found.Failures, failure)
	}
}

// unread notes that a place cannot be read: it may name images that are known from an earlier run.
func (f *finder) unread(place string, err error) {
	f.found.Complete = false
	f.fail(place, err)
}

func (f *finder) note(format string, args ...any) {
	f.found.Notes = append(f.found.Notes, fmt.Sprintf(format, args...))
}
