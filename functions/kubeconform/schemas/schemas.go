// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package schemas holds the JSON schemas of every kind that a Kubernetes API server has, for validation without a
// network.
//
// They are made from the release's OpenAPI v2 document, in the way of the public registry of Kubernetes JSON schemas: a
// field that is not required may be null, quantities and int-or-string fields may be numbers or strings, and apiVersion
// and kind have the values that belong to the schema. Only what a resource can violate is kept: there are no
// descriptions, and no formats but date-time.
//
// The embedded text is read on use and in place, so that a program that links this package starts no slower. It has a
// comment line with the release, then a line for each object type, sorted by name, of three fields with tabs between
// them: the name, the kinds it is the schema of (apiVersion/kind, with commas between them), and the schema, whose
// references are names of other lines. It is not compressed: it is a quarter of a megabyte, a change of it can be read
// in a review, and its bytes do not depend on a compressor's version.
package schemas

//go:generate env GOWORK=off go run -C ../../../tools ./cmd/kube-schemas -version v1.36.3 -sum h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o= -out ../functions/kubeconform/schemas/kubernetes.tsv

import (
	_ "embed"
	"fmt"
	"iter"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed kubernetes.tsv
var kubernetes string

// urlPrefix and a definition's name make the URL under which the JSON schema library knows the definition.
const urlPrefix = "kubernetes:///"

// Set finds and compiles schemas. It keeps what it compiled, as kinds share most of their parts. It is not safe for
// concurrent use.
type Set struct {
	release     string
	definitions map[string]string // name: schema
	kinds       map[string]string // apiVersion/kind, with the kind in lower case: name
	compiler    *jsonschema.Compiler
	compiled    map[string]bool // name: compiled, or under way
}

// Kubernetes returns the set of the embedded schemas. A strict set has schemas that refuse fields they do not know.
func Kubernetes(strict bool) *Set {
	set := &Set{
		definitions: map[string]string{},
		kinds:       map[string]string{},
		compiler:    jsonschema.NewCompiler(),
		compiled:    map[string]bool{},
	}
	set.compiler.DefaultDraft(jsonschema.Draft4)
	set.compiler.UseLoader(documents{set.definitions, strict})

	for line := range strings.Lines(kubernetes) {
		line = strings.TrimSuffix(line, "\n")
		if release, ok := strings.CutPrefix(line, "# kubernetes "); ok {
			set.release = release
			continue
		}
		name, rest, _ := strings.Cut(line, "\t")
		kinds, document, _ := strings.Cut(rest, "\t")
		set.definitions[name] = document
		if kinds == "" {
			continue
		}
		for id := range strings.SplitSeq(kinds, ",") {
			set.kinds[key(id)] = name
		}
	}
	return set
}

// Release is the Kubernetes release that the schemas are of, such as v1.36.3.
func (s *Set) Release() string {
	return s.release
}

// Schema returns the schema of a kind, or nil when Kubernetes has no such kind. The kind's case does not matter; the
// schema refuses a kind that is not spelt as it should be.
func (s *Set) Schema(apiVersion, kind string) (*jsonschema.Schema, error) {
	name, ok := s.kinds[key(apiVersion+"/"+kind)]
	if !ok {
		return nil, nil
	}
	schema, err := s.compile(name)
	if err != nil {
		return nil, fmt.Errorf("compile schema of %s %s: %w", apiVersion, kind, err)
	}
	return schema, nil
}

// compile compiles a definition after those it refers to. The compiler would find them by itself, but in a time that
// grows with the square of what it compiles in one go: 40 times that of this order for a kind that has pods.
func (s *Set) compile(name string) (*jsonschema.Schema, error) {
	s.compiled[name] = true
	for reference := range references(s.definitions[name]) {
		if s.compiled[reference] {
			continue
		}
		if _, err := s.compile(reference); err != nil {
			return nil, err
		}
	}
	return s.compiler.Compile(urlPrefix + name)
}

// key is what a kind is looked up by: apiVersion as it is, and the kind in lower case.
func key(id string) string {
	slash := strings.LastIndexByte(id, '/') + 1
	return id[:slash] + strings.ToLower(id[slash:])
}

// documents gives the compiler the parsed definitions that it asks for.
type documents struct {
	definitions map[string]string
	strict      bool
}

var _ jsonschema.URLLoader = documents{}

// Load returns the definition whose name a URL ends in. If strict, it allows only the fields it lists.
func (d documents) Load(url string) (any, error) {
	text, ok := d.definitions[strings.TrimPrefix(url, urlPrefix)]
	if !ok {
		return nil, fmt.Errorf("there is no Kubernetes schema %s", url)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parse Kubernetes schema %s: %w", url, err)
	}
	if object, ok := document.(map[string]any); ok && d.strict && object["properties"] != nil {
		object["additionalProperties"] = false // parts of a definition never have properties of their own
	}
	return document, nil
}

func references(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			_, after, found := strings.Cut(text, `"$ref":"`)
			if !found {
				return
			}
			name, rest, _ := strings.Cut(after, `"`)
			if !yield(name) {
				return
			}
			text = rest
		}
	}
}
