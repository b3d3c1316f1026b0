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

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/image-warmer/options"
	"github.com/krmfn/krmfn/internal/cluster/podcacheconfig"
	"github.com/krmfn/krmfn/internal/server/configfile"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Config is what Collect needs.
type Config struct {
	options.Sources

	// Cluster has the FunctionConfig objects, in Namespace; it is not used without them.
	Cluster   dynamic.Interface
	Namespace string
	// Prefix is put before images without a slash, and then Rewrites replace prefixes.
	Prefix   string
	Rewrites reference.Rewrites
	// Tags lists the tags of images, for the version constraints of Kptfiles: of Parallel repositories at once, at least 1,
	// within Timeout for each.
	Tags     TagLister
	Parallel int
	Timeout  time.Duration
}

// TagLister lists the tags of a repository, in any order. It is called by several goroutines at once, and must end with the
// context. A registry.Client is one.
type TagLister interface {
	Tags(ctx context.Context, repository string) ([]string, error)
}

// Found is what there is.
type Found struct {
	// References are sorted, and as function runners pull them; each is there once.
	References []string
	// Failures are the images that cannot be warmed, and the places that may name images and cannot be read.
	Failures []report.Failure
	// Complete says that every place was read: what is not among the references is named nowhere.
	Complete bool
	// Notes are for people.
	Notes []string
}

// Collect returns the images that are named. What goes wrong with one of them, or in one place, leaves the others alone.
func Collect(ctx context.Context, c Config) Found {
	f := &finder{
		Config: c, references: map[string]bool{}, constraints: map[string][]reference.Constraint{}, found: Found{Complete: true},
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
	if c.FunctionConfigs {
		f.functionConfigs(ctx)
	}
	f.resolveConstraints(ctx)
	f.found.References = slices.Sorted(maps.Keys(f.references))
	return f.found
}

type finder struct {
	Config
	references map[string]bool
	// constraints are by repository.
	constraints map[string][]reference.Constraint
	found       Found
}

// add takes an image as it is named in calls.
func (f *finder) add(name string) {
	ref, err := reference.Resolve(name, f.Prefix)
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
	f.references[f.Rewrites.Apply(ref)] = true
}

// fail notes that an image cannot be warmed. A place may name it a hundred times.
func (f *finder) fail(name string, err error) {
	if failure := (report.Failure{Image: name, Reason: err.Error()}); !slices.Contains(f.found.Failures, failure) {
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

// maxFile is the most bytes of a file that names images.
const maxFile = 4 << 20

// podCacheConfig takes the functions with settings of their own.
func (f *finder) podCacheConfig(file string) {
	text, err := readFile(file)
	if err != nil {
		f.unread(file, fmt.Errorf("read --pod-cache-config: %w", err))
		return
	}
	names, nameless, err := podcacheconfig.Images(text)
	if err != nil {
		f.unread(file, fmt.Errorf("--pod-cache-config is not understood: %w", err))
		return
	}
	if nameless > 0 {
		f.note("%s: %d entries have no name, which must be the image of a function", file, nameless)
	}
	for _, name := range names {
		f.add(name)
	}
}

func readFile(name string) ([]byte, error) {
	text, err := configfile.Read(name, maxFile)
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes: is this the right file?", name, maxFile)
	}
	return text, err
}
