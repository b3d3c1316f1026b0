// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package configfile decodes configuration files strictly, reports errors with their line, and watches the files for changes.
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

// Problem is an error in a configuration file. It is returned as an error only if the rest of the file cannot be used either.
type Problem struct {
	// Line is the line of the error, starting at 1.
	Line int
	// Text is the message, in one line.
	Text string
}

func (p Problem) Error() string { return fmt.Sprintf("line %d: %s", p.Line, p.Text) }

// Read returns at most limit+1 bytes of a file. More than limit bytes tell the caller that the file is too large.
func Read(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit+1))
}

// Document is a YAML document or a part of one. It is immutable.
type Document struct {
	// node is nil for an empty text.
	node *yaml.Node
	// More reports whether another document follows.
	More bool
}

// Parse returns the first document of a text. The error is a Problem: the text is not YAML.
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

// problem converts a library's error to a Problem of one line. Errors of package yaml contain a line number; line is the
// default.
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

// Empty reports whether the document has no content.
func (d Document) Empty() bool { return d.node == nil || d.node.ShortTag() == "!!null" }

// Line returns the first line of the document, which must not be empty.
func (d Document) Line() int { return d.node.Line }

// Items returns the items of a list. isList is false if the document is not a list.
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

// Fields iterates over the fields of a mapping in order. isMapping is false if the document is not a mapping.
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

// DecodeFields decodes a mapping like Decode. A field with a wrong type is a problem, and all other fields are set. The error
// is a Problem: the document is not a mapping.
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

// Decode decodes the document to into, which is a pointer, with the rules of Kubernetes' JSON decoder. Unknown fields are
// problems, sorted by line, and all other fields are set. The error is a Problem: a value has the wrong type.
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
		return nil, d.typeError(err)
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

// typeError converts a JSON decoding error to a Problem with its line.
func (d Document) typeError(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return problem(err, d.Line())
	}
	// All items of a list have the same type, so the first value of this kind is the wrong one.
	kind, _, _ := strings.Cut(wrong.Value, " ")
	where := d.find(func(p place) bool {
		return index.ReplaceAllString(p.path, "") == wrong.Field && kindOf(p.value) == kind
	})
	return Problem{where.value.Line, fmt.Sprintf("%s is not %s", cmp.Or(where.path, "this"), typeName(wrong.Type))}
}

// place is a value in the document. path has the form functions[1].images. line is the line of the value's key.
type place struct {
	path  string
	line  int
	value *yaml.Node
}

// find returns the first place for which that returns true, or else the root.
func (d Document) find(that func(place) bool) place {
	all := places("", d.Line(), d.node)
	return all[max(0, slices.IndexFunc(all, that))]
}

// places returns the place of a value and of all values in it.
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

// kindOf returns the JSON kind of a node, as in json.UnmarshalTypeError.Value.
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

// typeName describes a Go type in YAML terms.
func typeName(t reflect.Type) string {
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

// target returns the target of an alias, or the node itself.
func target(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}
