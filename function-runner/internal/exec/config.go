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

	"github.com/krmfn/krmfn/services/evaluation/traits"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/server/configfile"
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

// traits returns what the entry declares of the function.
func (e *entry) traits() traits.Traits {
	return traits.Traits{Worker: e.Worker, Deterministic: e.Deterministic, NoStandby: e.Standby != nil && !*e.Standby}
}

// parseConfig reads a config file: a mapping with the list functions, each with the name of an executable in function, a list of
// references in images, the function's version in version, and, where they are not the defaults, its traits in worker (false),
// deterministic (false) and standby (true). What has another shape is an error with its line; unknown fields are problems.
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

// lines returns in which lines the entries are.
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

// Tags says which tags the functions of a config file answer to that have a version there. Digests must be listed in any case.
type Tags string

// The values of Tags.
const (
	// TagsOwn are those that the config file lists.
	TagsOwn Tags = "own"
	// TagsCompatible are also those of the other patch releases of the same minor version.
	TagsCompatible Tags = "compatible"
	// TagsAll are all tags.
	TagsAll Tags = "all"
)

// apply makes a function answer to these tags.
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

// loadFunctions reads a config file. An error means that there are no functions to be had from it; problems that there are
// some without the entries that they name.
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

// problemsError makes one error of problems.
func problemsError(file string, problems []configfile.Problem) error {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.Error()
	}
	return fmt.Errorf("config file %s: %s", file, strings.Join(texts, "; "))
}

// FindExecutable returns the absolute path of a function's program. A relative name is below dir. An absolute one is taken as
// it is, or else below dir, where earlier function runners looked for it. The error says why it cannot be executed.
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

// usable tells why a file cannot be executed, or nil.
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
