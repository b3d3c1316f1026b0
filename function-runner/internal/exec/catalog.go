// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"reflect"
	"slices"

	"github.com/krmfn/krmfn/services/evaluation/traits"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Executable is a function with a local executable.
type Executable struct {
	// Name is the function's name.
	Name string
	// Path is the absolute path of its executable, which is run without arguments.
	Path string
	// Implementation says, for people, what the executable is.
	Implementation string
	// Version is the version of the function that it implements, of which reports warn where an image has another tag; "" if it is
	// not known, or of no interest.
	Version string
	// Images are the references that it answers to. One with a digest stands for that image alone, whatever tag is beside it.
	Images []string
	// AnyTag makes it answer to these references whatever their tag. A digest never is one of any: it names the bytes of an image.
	AnyTag bool
	// PatchTags makes it answer in the repositories of Images to the tags of all patch releases of Version's minor version, too.
	PatchTags bool
	// Traits are what it declares of itself. Declared has annotations that take the place of the traits of the functions of other
	// sources that have the same executable; see package traits. The version of those is its own, too.
	Traits   traits.Traits
	Declared map[string]string
}

// catalog finds functions by image, each in at most three look-ups. It does not change.
type catalog struct {
	functions []Executable
	exact     map[string]*Executable
	patches   map[string]*Executable
	anyTag    map[string]*Executable
}

// newCatalog indexes functions by the references they are resolved to with a prefix. The first function of an image wins.
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

// put adds a function to an index, unless the key is empty or taken.
func put(index map[string]*Executable, key string, f *Executable) {
	if _, taken := index[key]; !taken && key != "" {
		index[key] = f
	}
}

// find returns the function of a reference that is in its canonical form, or nil.
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

// canonical resolves a short name and adds the tag that a reference without tag and digest means; beside a digest, a tag means
// nothing and is left out. It is "" for no reference.
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

// sources are where functions come from. Of an image that several have, the configured ones count, then the file's.
type sources struct {
	configured, file, given []Executable
	// overridden are the images that both configured and others have, sorted.
	overridden []string
}

// Configure puts functions in force that objects of a cluster configure, in place of those that it was called with before, and
// tells whether that has changed anything. They count before all others that answer to the same images. It may be called at any
// time; the functions must not be changed any more.
func (e *Evaluator) Configure(functions []Executable) bool {
	return e.change(func(s *sources) *[]Executable { return &s.configured }, functions)
}

// load puts the functions of the config file in force, and tells whether that has changed anything.
func (e *Evaluator) load(functions []Executable) bool {
	return e.change(func(s *sources) *[]Executable { return &s.file }, functions)
}

// change logs which executables lose their place to those of objects.
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

// declared returns the configured functions with the version and the traits that others with their executables have, and what is
// declared over these.
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
		// A wrong value counts for nothing, and is a problem of the object.
		functions[i].Traits, _ = traits.Parse(same.Traits, f.Declared)
		if same.Version != "" {
			functions[i].Version, functions[i].Implementation = same.Version, same.Implementation
		}
	}
	return functions
}

// others returns the functions that are not configured, without the images of those that are, and these images.
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
