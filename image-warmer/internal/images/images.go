// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package images collects the images to warm: from flags, settings files, Kptfiles and FunctionConfig objects.
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

// Config configures Collect.
type Config struct {
	options.Sources

	// Cluster is a client for the FunctionConfig objects in Namespace. It may be nil without Sources.FunctionConfigs.
	Cluster   dynamic.Interface
	Namespace string
	// Prefix is the prefix of images without a slash. Rewrites then replace prefixes.
	Prefix   string
	Rewrites reference.Rewrites
	// Tags lists the tags of images, to resolve the version constraints of Kptfiles. Parallel is the maximum number of concurrent
	// listings, at least 1, and Timeout is the timeout of each.
	Tags     TagLister
	Parallel int
	Timeout  time.Duration
}

// TagLister lists the tags of a repository, in any order. It must be safe for concurrent use, and must return when the context ends.
// registry.Client implements it.
type TagLister interface {
	Tags(ctx context.Context, repository string) ([]string, error)
}

// Found is the result of Collect.
type Found struct {
	// References are the references that function runners pull, sorted and unique.
	References []string
	// Failures are the images that cannot be warmed, and the sources that cannot be read.
	Failures []report.Failure
	// Complete reports that all sources were read, so that no other image is in use.
	Complete bool
	// Notes are messages for the report that are not failures.
	Notes []string
}

// Collect returns the images of all sources. A failure of one image or source does not affect the others.
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
	// constraints holds the version constraints by repository.
	constraints map[string][]reference.Constraint
	found       Found
}

// add adds an image by its name in calls.
func (f *finder) add(name string) {
	ref, err := reference.Resolve(name, f.Prefix)
	if err == nil {
		err = reference.Validate(ref)
	}
	f.resolved(name, ref, err)
}

// resolved adds the reference of an image, or a failure if err is not nil.
func (f *finder) resolved(name, ref string, err error) {
	if err != nil {
		f.fail(name, err)
		return
	}
	f.references[f.Rewrites.Apply(ref)] = true
}

// fail adds a failure once, even if a source names the image many times.
func (f *finder) fail(name string, err error) {
	if failure := (report.Failure{Image: name, Reason: err.Error()}); !slices.Contains(f.found.Failures, failure) {
		f.found.Failures = append(f.found.Failures, failure)
	}
}

// unread adds a failure of a source. Its images may be known from an earlier run, so the result is incomplete.
func (f *finder) unread(source string, err error) {
	f.found.Complete = false
	f.fail(source, err)
}

func (f *finder) note(format string, args ...any) {
	f.found.Notes = append(f.found.Notes, fmt.Sprintf(format, args...))
}

// maxFile is the maximum size of a file, in bytes.
const maxFile = 4 << 20

// podCacheConfig adds the functions in the settings file.
func (f *finder) podCacheConfig(file string) {
	text, err := readFile(file)
	if err != nil {
		f.unread(file, fmt.Errorf("read --pod-cache-config: %w", err))
		return
	}
	names, nameless, err := podcacheconfig.Images(text)
	if err != nil {
		f.unread(file, fmt.Errorf("--pod-cache-config is invalid: %w", err))
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
