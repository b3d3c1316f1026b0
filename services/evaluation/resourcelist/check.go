// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package resourcelist checks what a function wrote, and reads the results in it. It follows the KRM functions
// specification and is as tolerant about results as kpt is.
package resourcelist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.yaml.in/yaml/v3"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// Kind is the kind of the one document that a function reads and writes.
const Kind = "ResourceList"

// maxParsed is the most bytes that are parsed where the scanner is not certain: the parser takes 25 times as much memory. Of longer
// outputs only the kind and the results are looked at then.
const maxParsed = 8 << 20

// parsing is held while a document is parsed, so that the memory is taken once.
var parsing sync.Mutex

// Results checks that a function's output is one YAML document of kind ResourceList whose items, where it has any, are
// mappings, and returns the results in it. The apiVersion is not looked at. The error says in one line what is wrong.
func Results(output []byte) ([]*evaluationv1.Result, error) {
	return resultsOf(output, maxParsed)
}

func resultsOf(output []byte, maxParsed int) ([]*evaluationv1.Result, error) {
	if o, ok := scan(output); ok {
		if o.kind != Kind {
			return nil, kindError(o.kind)
		}
		return o.results(output)
	}
	if len(output) > maxParsed {
		o := skim(output)
		if o.kind != Kind {
			return nil, kindError(o.kind)
		}
		return o.results(output)
	}
	parsing.Lock()
	defer parsing.Unlock()
	root, err := parse(output)
	if err != nil {
		return nil, err
	}
	if kind := yamlnode.Lookup(root, "kind"); kind == nil || kind.Value != Kind {
		return nil, kindError(text(kind))
	}
	if err := checkItems(yamlnode.Lookup(root, "items")); err != nil {
		return nil, err
	}
	return readResults(yamlnode.Lookup(root, "results"))
}

// parse returns the root of the one document that the output must hold.
func parse(output []byte) (*yaml.Node, error) {
	if len(bytes.TrimSpace(output)) == 0 {
		return nil, errors.New("the output is empty, want a ResourceList")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(output))
	var doc, more yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		return nil, fmt.Errorf("the output is not YAML: %w", err)
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, errors.New("the output has more than one document, want one ResourceList")
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("the output is not YAML: %w", err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the output is not a mapping, want a ResourceList")
	}
	return doc.Content[0], nil
}

func kindError(kind string) error {
	if kind == "" {
		return errors.New("the output has no kind, want a ResourceList")
	}
	return fmt.Errorf("the output is of kind %.100q, want a ResourceList", kind)
}

func checkItems(items *yaml.Node) error {
	if yamlnode.IsNull(items) {
		return nil
	}
	if items.Kind != yaml.SequenceNode {
		return errors.New("the output's items are not a list")
	}
	for i, item := range items.Content {
		if yamlnode.Resolve(item).Kind != yaml.MappingNode {
			return fmt.Errorf("item %d of the output is not a mapping", i)
		}
	}
	return nil
}
