// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package configfile reads configuration files strictly, names the line of what is wrong in them, and watches them for changes.
package configfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	strict "sigs.k8s.io/json"
)

// Problem is a mistake in a configuration file. It is also the error for a mistake that leaves nothing to use.
type Problem struct {
	// Line is where the mistake is, from 1.
	Line int
	// Text says what is wrong, in one line.
	Text string
}

func (p Problem) Error() string { return fmt.Sprintf("line %d: %s", p.Line, p.Text) }

// Read returns the content of a file. Of one with more than limit bytes it returns limit+1, for the caller to refuse.
func Read(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit+1))
}

// Document is a YAML document or a part of one. It does not change.
type Document struct {
	// node is nil where there is no document.
	node *yaml.Node
	// More says that further documents follow this one.
	More bool
}

// Parse returns the first document of a text. The error is a Problem: the text is no YAML.
func Parse(text []byte) (Document, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return Document{}, nil
	case err != nil:
		return Document{}, problem(err, 1)
	}
	more := !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF)
	return Document{node: root.Content[0], More: more}, nil
}

// problem returns an error of a library in one line. Those of package yaml name their line.
func problem(err error, line int) Problem {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if several, ok := errors.AsType[*yaml.TypeError](err); ok {
		text = strings.Join(several.Errors, "; ")
	}
	where, what, _ := strings.Cut(text, ": ")
	if n, _ := fmt.Sscanf(where, "line %d", &line); n == 1 {
		text = what
	}
	return Problem{line, strings.ReplaceAll(text, "\n", " ")}
}

// Empty tells whether there is nothing in the document.
func (d Document) Empty() bool { return d.node == nil || d.node.ShortTag() == "!!null" }

// Line returns the line that the document, which is not empty, begins in.
func (d Document) Line() int { return d.node.Line }

// Items returns the items of a list. isList is false for anything else.
func (d Document) Items() (items []Document, isList bool) {
	node := target(d.node)
	if node.Kind != yaml.SequenceNode {
		return nil, false
	}
	for _, item := range node.Content {
		items = append(items, Document{node: item})
	}
	return items, true
}

// Fields returns the fields of a mapping, in their order. isMapping is false for anything else.
func (d Document) Fields() (fields iter.Seq2[string, Document], isMapping bool) {
	node := target(d.node)
	isMapping = node.Kind == yaml.MappingNode
	return func(yield func(string, Document) bool) {
		for i := 1; isMapping && i < len(node.Content); i += 2 {
			if !yield(node.Content[i-1].Value, Document{node: node.Content[i]}) {
				return
			}
		}
	}, isMapping
}

// DecodeFields decodes a mapping as Decode does, but a field that does not fit is a problem, and the others are set. The error is a
// Problem: the document is no mapping at all.
func DecodeFields[T any](d Document, into *T) ([]Problem, error) {
	whole := *into
	problems, err := d.Decode(&whole)
	if err == nil {
		*into = whole
		return problems, nil
	}
	node := target(d.node)
	if node.Kind != yaml.MappingNode || node.Decode(new(any)) != nil {
		return nil, err
	}
	for i := 1; i < len(node.Content); i += 2 {
		name, field, next := node.Content[i-1], *node, *into
		field.Line, field.Content = name.Line, node.Content[i-1:i+1]
		unknown, err := Document{node: &field}.Decode(&next)
		if misfit, ok := errors.AsType[Problem](err); ok {
			if !strings.HasPrefix(misfit.Text, name.Value) {
				misfit.Text = name.Value + ": " + misfit.Text
			}
			unknown, next = []Problem{misfit}, *into
		}
		problems, *into = append(problems, unknown...), next
	}
	return problems, nil
}

// Decode sets into, a pointer, to what the document says, as Kubernetes decodes JSON. Fields that into does not have are problems,
// sorted by line; the others are set. The error is a Problem: the document does not fit into's type.
func (d Document) Decode(into any) ([]Problem, error) {
	var value any
	if err := d.node.Decode(&value); err != nil {
		return nil, problem(err, d.Line())
	}
	content, err := json.Marshal(value)
	if err != nil {
		return nil, Problem{d.Line(), "every name in a mapping must be a string, and every number finite: put others in quotes"}
	}
	unknown, err := strict.UnmarshalStrict(content, into)
	if err != nil {
		return nil, d.misfit(err)
	}
	problems := make([]Problem, len(unknown))
	for i, err := range unknown {
		var field strict.FieldError
		where := d.find(func(p place) bool { return errors.As(err, &field) && p.path == field.FieldPath() })
		problems[i] = Problem{where.line, err.Error()}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return problems, nil
}

var index = regexp.MustCompile(`\[\d+\]`)

// misfit words an error of decoding JSON with its line.
func (d Document) misfit(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return problem(err, d.Line())
	}
	// The items of a list have one type, so that the first value of this kind is the one that does not fit.
	kind, _, _ := strings.Cut(wrong.Value, " ")
	where := d.find(func(p place) bool {
		return index.ReplaceAllString(p.path, "") == wrong.Field && kindOf(p.value) == kind
	})
	return Problem{where.value.Line, fmt.Sprintf("%s is not %s", cmp.Or(where.path, "this"), wanted(wrong.Type))}
}

// place is a value, its path such as functions[1].images, and the line of its name.
type place struct {
	path  string
	line  int
	value *yaml.Node
}

// find returns the first place that a condition holds for, or else that of the document.
func (d Document) find(that func(place) bool) place {
	all := places("", d.Line(), d.node)
	return all[max(0, slices.IndexFunc(all, that))]
}

// places returns a value's place, and those of all values in it.
func places(path string, line int, value *yaml.Node) []place {
	value = target(value)
	all := []place{{path, line, value}}
	for i, child := range value.Content {
		switch {
		case value.Kind == yaml.SequenceNode:
			all = append(all, places(fmt.Sprintf("%s[%d]", path, i), child.Line, child)...)
		case i%2 == 1:
			name := value.Content[i-1]
			all = append(all, places(strings.TrimPrefix(path+"."+name.Value, "."), name.Line, child)...)
		}
	}
	return all
}

// kindOf names what a node is in JSON as json.UnmarshalTypeError does.
func kindOf(node *yaml.Node) string {
	switch node.ShortTag() {
	case "!!seq":
		return "array"
	case "!!map":
		return "object"
	case "!!bool":
		return "bool"
	case "!!int", "!!float":
		return "number"
	}
	return "string"
}

// wanted words a type for people who write YAML.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	}
	return "a number of type " + t.String()
}

// target returns what an alias stands for, or the node itself.
func target(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}
