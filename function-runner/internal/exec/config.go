// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"
)

// entry is one function of the config file.
type entry struct {
	name   string
	images []string
	line   int
}

// Problem is something in a config file that does not make sense, and that the evaluator can do without.
type Problem struct {
	// Line is where it is, from 1.
	Line int
	// Text says what it is.
	Text string
}

func (p Problem) String() string { return fmt.Sprintf("line %d: %s", p.Line, p.Text) }

// parseConfig reads a config file: a mapping with the list functions, each with the name of an executable in function and
// a list of references in images. What has another shape is an error with its line; unknown fields are problems.
func parseConfig(text []byte) ([]entry, []Problem, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil, nil, errors.New("line 1: the file is empty, want a list of functions")
	}
	root, problems, err := fields(doc.Content[0], "functions")
	if err != nil {
		return nil, nil, err
	}
	list, ok := root["functions"]
	if !ok || list.ShortTag() == "!!null" {
		return nil, problems, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, nil, shapeError(list, "functions", "a list")
	}
	entries := make([]entry, 0, len(list.Content))
	for _, item := range list.Content {
		e, more, err := parseEntry(item)
		if err != nil {
			return nil, nil, err
		}
		entries, problems = append(entries, e), append(problems, more...)
	}
	return entries, problems, nil
}

func parseEntry(item *yaml.Node) (entry, []Problem, error) {
	f, problems, err := fields(item, "function", "images")
	if err != nil {
		return entry{}, nil, err
	}
	e := entry{line: item.Line}
	if name := f["function"]; name != nil {
		if name.Kind != yaml.ScalarNode {
			return entry{}, nil, shapeError(name, "function", "a file name")
		}
		e.name = name.Value
	}
	images := f["images"]
	if images == nil {
		images = &yaml.Node{Kind: yaml.SequenceNode}
	}
	if images.Kind != yaml.SequenceNode {
		return entry{}, nil, shapeError(images, "images", "a list of image references")
	}
	for _, image := range images.Content {
		if image.Kind != yaml.ScalarNode {
			return entry{}, nil, shapeError(image, "images", "a list of image references")
		}
		e.images = append(e.images, image.Value)
	}
	if e.name == "" {
		problems = append(problems, Problem{e.line, "the entry has no function"})
	}
	if len(e.images) == 0 {
		problems = append(problems, Problem{e.line, fmt.Sprintf("function %q has no images", e.name)})
	}
	return e, problems, nil
}

// fields returns a mapping's values by name, and a problem for each name that is not known or stands there twice.
func fields(n *yaml.Node, known ...string) (map[string]*yaml.Node, []Problem, error) {
	if n.Kind != yaml.MappingNode {
		return nil, nil, shapeError(n, "this", "a mapping with "+strings.Join(known, " and "))
	}
	values := make(map[string]*yaml.Node, len(known))
	var problems []Problem
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		isKnown := false
		for _, k := range known {
			isKnown = isKnown || k == key.Value
		}
		switch {
		case !isKnown:
			problems = append(problems, Problem{key.Line, fmt.Sprintf("unknown field %q, known are %s", key.Value, strings.Join(known, " and "))})
		case values[key.Value] != nil:
			return nil, nil, fmt.Errorf("line %d: field %q is there twice", key.Line, key.Value)
		default:
			values[key.Value] = n.Content[i+1]
		}
	}
	return values, problems, nil
}

func shapeError(n *yaml.Node, what, want string) error {
	return fmt.Errorf("line %d: %s is not %s", n.Line, what, want)
}

// Executable returns the absolute path of a function's program. A relative name is below dir. An absolute one is taken as
// it is, or else below dir, where earlier function runners looked for it. The error says why it cannot be executed.
func Executable(dir, name string) (string, error) {
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
