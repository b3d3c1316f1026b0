// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"log/slog"
	"slices"
)

// sources are where functions come from. Of an image that several have, the configured ones count, then the file's.
type sources struct {
	configured, file, given []Executable
	// overridden are the images that both configured and others have, sorted.
	overridden []string
}

// Change is what became of new functions.
type Change struct {
	// Changed tells whether they are others than before.
	Changed bool
	// Overridden are the images whose executables have lost their place to those of FunctionConfig objects just now.
	Overridden []string
}

// Log says which executables have lost their place.
func (c Change) Log(log *slog.Logger) {
	if len(c.Overridden) > 0 {
		log.Warn("images have the executables of FunctionConfig objects, and not those of the config file", "images", c.Overridden)
	}
}

// Configure puts functions in force that objects of a cluster configure, in place of those that it was called with before.
// They count before all others that answer to the same images. It may be called at any time; the functions must not be
// changed any more.
func (e *Evaluator) Configure(functions []Executable) Change {
	return e.change(func(s *sources) *[]Executable { return &s.configured }, functions)
}

// load puts the functions of the config file in force.
func (e *Evaluator) load(functions []Executable) Change {
	return e.change(func(s *sources) *[]Executable { return &s.file }, functions)
}

func (e *Evaluator) change(source func(*sources) *[]Executable, functions []Executable) Change {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := source(&e.sources)
	if same(*before, functions) {
		return Change{}
	}
	*before = functions
	others, overridden := e.sources.others(e.prefix)
	e.catalog.Store(newCatalog(slices.Concat(e.sources.configured, others), e.prefix))
	change := Change{Changed: true}
	for _, image := range overridden {
		if _, known := slices.BinarySearch(e.sources.overridden, image); !known {
			change.Overridden = append(change.Overridden, image)
		}
	}
	e.sources.overridden = overridden
	return change
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

func same(a, b []Executable) bool {
	return slices.EqualFunc(a, b, func(f, g Executable) bool {
		return f.Name == g.Name && f.Path == g.Path && slices.Equal(f.Images, g.Images)
	})
}
