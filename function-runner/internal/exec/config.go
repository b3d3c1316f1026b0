// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/krmfn/krmfn/internal/server/configfile"
	"github.com/krmfn/krmfn/internal/traits"
	"github.com/krmfn/krmfn/services/images/reference"
)

// entry is one function of the config file.
type entry struct {
	Function      string   `json:"function"`
	Version       string   `json:"version"`
	Images        []string `json:"images"`
	Worker        bool     `json:"worker"`
	Deterministic bool     `json:"deterministic"`
	Standby       *bool    `json:"standby"`
	line          int
}

// traits returns the traits that the entry declares.
func (e *entry) traits() traits.Traits {
	return traits.Traits{Worker: e.Worker, Deterministic: e.Deterministic, NoStandby: e.Standby != nil && !*e.Standby}
}

// parseConfig parses a config file: a mapping with the list functions. Each function has the fields function (the name of an executable),
// images (a list of references) and version, and the optional traits worker (default false), deterministic (default false) and standby
// (default true). A wrong structure is an error with a line number. Unknown fields are problems.
func parseConfig(text []byte) ([]entry, []configfile.Problem, error) {
	doc, err := configfile.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	if doc.Empty() {
		return nil, nil, configfile.Problem{Line: 1, Text: "the file is empty, want a list of functions"}
	}
	var file struct {
		Functions []entry `json:"functions"`
	}
	problems, err := doc.Decode(&file)
	if err != nil {
		return nil, nil, err
	}
	for i, line := range lines(doc) {
		e := &file.Functions[i]
		e.line = line
		if e.Function == "" {
			problems = append(problems, problem(*e, "the entry has no function"))
		}
		if len(e.Images) == 0 {
			problems = append(problems, problem(*e, "function %q has no images", e.Function))
		}
	}
	return file.Functions, problems, nil
}

// lines returns the line numbers of the entries.
func lines(doc configfile.Document) (lines []int) {
	fields, _ := doc.Fields()
	for name, value := range fields {
		items, _ := value.Items()
		for _, item := range items {
			if name == "functions" {
				lines = append(lines, item.Line())
			}
		}
	}
	return lines
}

// Tags controls which tags a function of the config file evaluates if its entry has a version. Digests must always be listed.
type Tags string

// Values of Tags.
const (
	// TagsOwn allows the tags in the config file.
	TagsOwn Tags = "own"
	// TagsCompatible also allows the tags of other patch releases of the same minor version.
	TagsCompatible Tags = "compatible"
	// TagsAll allows all tags.
	TagsAll Tags = "all"
)

// apply sets the tags that a function evaluates.
func (t Tags) apply(f *Executable) {
	if f.Version == "" {
		return
	}
	f.PatchTags = t == TagsCompatible
	if f.AnyTag = t == TagsAll; !f.AnyTag {
		return
	}
	for i, image := range f.Images {
		if repository, _, digest := reference.Split(image); digest == "" {
			f.Images[i] = repository
		}
	}
	slices.Sort(f.Images)
	f.Images = slices.Compact(f.Images)
}

// loadFunctions reads a config file. An error means that the file is unusable. Problems mean that the functions exclude the entries, or
// parts of entries, that the problems name.
func loadFunctions(file, dir, prefix string, tags Tags) ([]Executable, []configfile.Problem, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("the config file %s is missing: name another with --config, or use --config= for none", file)
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
		name := filepath.Base(e.Function)
		f := Executable{Name: name, Implementation: strings.TrimSpace(name + " " + e.Version), Version: e.Version, Traits: e.traits()}
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
		tags.apply(&f)
		functions = append(functions, f)
	}
	slices.SortStableFunc(problems, func(a, b configfile.Problem) int { return a.Line - b.Line })
	return functions, problems, nil
}

func problem(e entry, format string, args ...any) configfile.Problem {
	return configfile.Problem{Line: e.line, Text: fmt.Sprintf(format, args...)}
}

// problemsError combines problems into one error.
func problemsError(file string, problems []configfile.Problem) error {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.Error()
	}
	return fmt.Errorf("config file %s: %s", file, strings.Join(texts, "; "))
}

// FindExecutable returns the absolute path of a function's executable. A relative name is relative to dir. An absolute name is a path,
// or, if it is not executable, relative to dir, for compatibility with earlier function runners. The error says why the file is not
// executable.
func FindExecutable(dir, name string) (string, error) {
	if filepath.IsAbs(name) {
		if path := filepath.Clean(name); usable(path) == nil {
			return path, nil
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if !strings.HasPrefix(path, dir+string(filepath.Separator)) {
		return "", fmt.Errorf("%q leads out of %s", name, dir)
	}
	return path, usable(path)
}

// usable returns nil if a file is executable, or the reason why it is not.
func usable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("executable %s is missing", path)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("executable %s is not a file", path)
	case unix.Access(path, unix.X_OK) != nil:
		return fmt.Errorf("executable %s cannot be executed (mode %v)", path, info.Mode().Perm())
	}
	return nil
}
