// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package schemas has the JSON schemas of all kinds of a Kubernetes API server, for offline validation.
//
// The schemas are generated from a release's OpenAPI v2 document, like those in the public registry of Kubernetes JSON schemas:
// optional fields may be null, quantities and int-or-string fields may be numbers or strings, and apiVersion and kind have
// fixed values. They contain only what a resource can violate: no descriptions, and no formats except date-time.
//
// The embedded text is parsed on first use and in place, so that linking this package does not slow down the start of a
// program. It has a comment line with the release and then a line for each object type, sorted by name, with three
// tab-separated fields: the name, the kinds that have this schema (comma-separated apiVersion/kind), and the schema, whose
// references are names of other lines. The text is not compressed: it has only a quarter of a megabyte, its changes can be
// reviewed, and its bytes do not depend on the version of a compressor.
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

// urlPrefix plus the name of a definition is the definition's URL in the schema compiler.
const urlPrefix = "kubernetes:///"

// Set finds and compiles schemas. It caches compiled definitions, because kinds share most of them. Not safe for concurrent
// use.
type Set struct {
	release     string
	definitions map[string]string // schemas by name
	kinds       map[string]string // names by apiVersion/kind, with kind in lower case
	compiler    *jsonschema.Compiler
	compiled    map[string]bool // names that are compiled or being compiled
}

// Kubernetes returns the set of embedded schemas. Strict schemas reject unknown fields.
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

// Release returns the Kubernetes release of the schemas, such as v1.36.3.
func (s *Set) Release() string {
	return s.release
}

// Schema returns the schema of a kind, or nil if Kubernetes has no such kind. The lookup ignores the kind's case, but the
// schema rejects a wrong spelling.
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

// compile compiles a definition after the definitions it refers to. The compiler would compile those itself, but its time is
// quadratic in the size of one compilation: for a kind with pods, it would take 40 times as long.
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

// key returns the lookup key of a kind: apiVersion unchanged, kind in lower case.
func key(id string) string {
	slash := strings.LastIndexByte(id, '/') + 1
	return id[:slash] + strings.ToLower(id[slash:])
}

// documents provides the parsed definitions to the compiler.
type documents struct {
	definitions map[string]string
	strict      bool
}

var _ jsonschema.URLLoader = documents{}

// Load returns the definition whose name is the last part of the URL. With strict, it allows only the listed fields.
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
		object["additionalProperties"] = false // nested parts of a definition have no properties of their own
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
