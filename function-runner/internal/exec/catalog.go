// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"reflect"
	"slices"

	"github.com/krmfn/krmfn/internal/traits"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Executable is a function with a local executable.
type Executable struct {
	Name string
	// Path is the absolute path of the executable, which runs without arguments.
	Path string
	// Implementation describes the executable for users.
	Implementation string
	// Version is the version of the function that the executable implements. Reports contain a warning if the tag of the image differs.
	// Empty means that the version is unknown and disables the warning.
	Version string
	// Images are the references that the executable evaluates. A reference with a digest matches only this digest, regardless of its tag.
	Images []string
	// AnyTag makes the executable evaluate Images with any tag. It does not apply to digests, because a digest identifies the content of
	// an image.
	AnyTag bool
	// PatchTags makes the executable also evaluate, in the repositories of Images, the tags of all patch releases of Version's minor
	// version.
	PatchTags bool
	// Traits are the traits that the config file or the caller of New declares. Declared holds annotations for a function from Configure.
	// They override the traits of functions from other sources with the same executable; see package traits. Such a function also takes
	// its version from the other sources.
	Traits   traits.Traits
	Declared map[string]string
}

// catalog finds functions by image, with at most three map lookups. It is immutable.
type catalog struct {
	functions []Executable
	exact     map[string]*Executable
	patches   map[string]*Executable
	anyTag    map[string]*Executable
}

// newCatalog indexes functions by their references, resolved with a prefix. The first function with a reference wins.
func newCatalog(functions []Executable, prefix string) *catalog {
	c := &catalog{functions: functions, exact: map[string]*Executable{}, patches: map[string]*Executable{}, anyTag: map[string]*Executable{}}
	for i := range functions {
		f := &functions[i]
		for _, name := range f.Images {
			key := canonical(name, prefix)
			repository, _, digest := reference.Split(key)
			switch {
			case digest != "" || !f.AnyTag:
				put(c.exact, key, f)
			default:
				put(c.anyTag, repository, f)
			}
			if digest == "" && f.PatchTags {
				put(c.patches, repository, f)
			}
		}
	}
	return c
}

// put adds a function to an index, unless the key is empty or exists.
func put(index map[string]*Executable, key string, f *Executable) {
	if _, taken := index[key]; !taken && key != "" {
		index[key] = f
	}
}

// find returns the function for a reference in canonical form, or nil.
func (c *catalog) find(ref string) *Executable {
	if f, ok := c.exact[ref]; ok {
		return f
	}
	repository, tag, digest := reference.Split(ref)
	if digest != "" {
		return nil
	}
	if f, ok := c.patches[repository]; ok && reference.SameMinor(tag, f.Version) {
		return f
	}
	return c.anyTag[repository]
}

// canonical resolves a short name and adds the default tag if the reference has neither tag nor digest. It drops a tag next to a digest,
// because the digest decides. It returns an empty string for an invalid reference.
func canonical(name, prefix string) string {
	ref, err := reference.Resolve(name, prefix)
	if err != nil {
		return ""
	}
	switch repository, tag, digest := reference.Split(ref); {
	case digest != "":
		return repository + "@" + digest
	case tag == "":
		return ref + ":" + reference.DefaultTag
	}
	return ref
}

// sources holds the functions by source. If several sources have an image, configured precedes file, and file precedes given.
type sources struct {
	configured, file, given []Executable
	// overridden lists the images that both configured and another source have, sorted.
	overridden []string
}

// Configure replaces the functions that objects of the cluster configure, and reports whether anything has changed. They take precedence
// over all other functions with the same images. Configure is safe for concurrent use. The caller must not modify the functions
// afterwards.
func (e *Evaluator) Configure(functions []Executable) bool {
	return e.change(func(s *sources) *[]Executable { return &s.configured }, functions)
}

// load replaces the functions of the config file, and reports whether anything has changed.
func (e *Evaluator) load(functions []Executable) bool {
	return e.change(func(s *sources) *[]Executable { return &s.file }, functions)
}

// change replaces the functions of one source. It logs images whose executable from the config file is newly overridden by an object.
func (e *Evaluator) change(source func(*sources) *[]Executable, functions []Executable) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := source(&e.sources)
	if reflect.DeepEqual(*before, functions) {
		return false
	}
	*before = functions
	others, overridden := e.sources.others(e.prefix)
	e.catalog.Store(newCatalog(slices.Concat(e.sources.declared(), others), e.prefix))
	known := e.sources.overridden
	e.sources.overridden = slices.Clone(overridden)
	if news := slices.DeleteFunc(overridden, func(image string) bool { return slices.Contains(known, image) }); len(news) > 0 {
		e.log.Warn("images have the executables of FunctionConfig objects, and not those of the config file", "images", news)
	}
	return true
}

// declared returns the configured functions with the version and traits of functions from other sources with the same executable. The
// declared annotations override these traits.
func (s *sources) declared() []Executable {
	known := map[string]Executable{}
	for _, f := range slices.Concat(s.given, s.file) {
		if same, twice := known[f.Path]; twice {
			f.Traits = f.Traits.And(same.Traits)
		}
		known[f.Path] = f
	}
	functions := slices.Clone(s.configured)
	for i, f := range functions {
		same := known[f.Path]
		// A trait with an invalid value is ignored here. The object's status reports the problem.
		functions[i].Traits, _ = traits.Parse(same.Traits, f.Declared)
		if same.Version != "" {
			functions[i].Version, functions[i].Implementation = same.Version, same.Implementation
		}
	}
	return functions
}

// others returns the functions of the other sources without the images of configured functions, and these images.
func (s *sources) others(prefix string) (others []Executable, overridden []string) {
	taken := map[string]bool{}
	for _, f := range s.configured {
		for _, name := range f.Images {
			taken[canonical(name, prefix)] = true
		}
	}
	for _, f := range slices.Concat(s.file, s.given) {
		var left []string
		for _, name := range f.Images {
			if image := canonical(name, prefix); taken[image] && !f.AnyTag {
				overridden = append(overridden, image)
			} else {
				left = append(left, name)
			}
		}
		if f.Images = left; len(left) > 0 {
			others = append(others, f)
		}
	}
	slices.Sort(overridden)
	return others, slices.Compact(overridden)
}
