// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/server/configfile"
)

// Executable is a function that has a local executable.
type Executable struct {
	// Name is the function's name.
	Name string
	// Path is the absolute path of its executable, which is run without arguments.
	Path string
	// Implementation says, for people, what the executable is.
	Implementation string
	// Images are the references that it answers to.
	Images []string
	// AnyTag makes it answer to these references whatever their tag or digest.
	AnyTag bool
}

// catalog finds functions by image, each in one or two look-ups. It does not change.
type catalog struct {
	functions []Executable
	exact     map[string]*Executable
	anyTag    map[string]*Executable
}

// newCatalog indexes functions by the references they are resolved to with a prefix. The first function of an image wins.
func newCatalog(functions []Executable, prefix string) *catalog {
	c := &catalog{functions: functions, exact: map[string]*Executable{}, anyTag: map[string]*Executable{}}
	for i := range functions {
		f := &functions[i]
		for _, name := range f.Images {
			index, key := c.exact, canonical(name, prefix)
			if f.AnyTag {
				index = c.anyTag
				key, _, _ = reference.Split(key)
			}
			if _, taken := index[key]; !taken && key != "" {
				index[key] = f
			}
		}
	}
	return c
}

// find returns the function of a reference that is in its canonical form, or nil.
func (c *catalog) find(ref string) *Executable {
	if f, ok := c.exact[ref]; ok {
		return f
	}
	repository, _, _ := reference.Split(ref)
	return c.anyTag[repository]
}

// canonical resolves a short name and adds the tag that a reference without tag and digest means; "" for no reference.
func canonical(name, prefix string) string {
	ref, err := reference.Resolve(name, prefix)
	if err != nil {
		return ""
	}
	if _, tag, digest := reference.Split(ref); tag == "" && digest == "" {
		ref += ":" + reference.DefaultTag
	}
	return ref
}

// loadFunctions reads a config file. An error means that there are no functions to be had from it; problems that there are
// some without the entries that they name.
func loadFunctions(file, dir, prefix string) ([]Executable, []configfile.Problem, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("the config file %s is missing, name another with --config or none with --config=", file)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the config file: %w", err)
	}
	entries, problems, err := parseConfig(text)
	if err != nil {
		return nil, nil, fmt.Errorf("config file %s, %w", file, err)
	}
	var functions []Executable
	seen := map[string]int{}
	for _, e := range entries {
		if e.Function == "" || len(e.Images) == 0 {
			continue
		}
		f := Executable{Name: filepath.Base(e.Function), Implementation: filepath.Base(e.Function)}
		for _, name := range e.Images {
			key := canonical(name, prefix)
			switch line, twice := seen[key]; {
			case key == "":
				problems = append(problems, problem(e, "%q of function %q is not an image reference", name, e.Function))
			case twice:
				problems = append(problems, problem(e, "image %q of function %q is already at line %d", name, e.Function, line))
			default:
				seen[key] = e.line
				f.Images = append(f.Images, name)
			}
		}
		if f.Path, err = FindExecutable(dir, e.Function); err != nil {
			problems = append(problems, problem(e, "function %q is left out: %v", e.Function, err))
			continue
		}
		functions = append(functions, f)
	}
	slices.SortStableFunc(problems, func(a, b configfile.Problem) int { return a.Line - b.Line })
	return functions, problems, nil
}

func problem(e entry, format string, args ...any) configfile.Problem {
	return configfile.Problem{Line: e.line, Text: fmt.Sprintf(format, args...)}
}

// problemsError makes one error of problems.
func problemsError(file string, problems []configfile.Problem) error {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.String()
	}
	return fmt.Errorf("config file %s: %s", file, strings.Join(texts, "; "))
}

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
