// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package resourcelist checks the output of functions and reads the results in it. It follows the KRM functions specification. Like
// kpt, it accepts older forms of results.
package resourcelist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/krmfn/krmfn/internal/yamlnode"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// Kind is the kind of a function's input and output.
const Kind = "ResourceList"

// maxParsed is the maximum size, in bytes, of an output that is parsed if the scanner does not recognise it. The parser needs 25 times
// that memory. For larger outputs, only kind and results are read.
const maxParsed = 8 << 20

// parsing allows one parser at a time, to limit memory.
var parsing sync.Mutex

// Results checks that a function's output is one YAML document of kind ResourceList whose items, if any, are mappings. It returns the
// results in it. It ignores the apiVersion. The error is one line.
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

// parse returns the root node of the output, which must be a single document.
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
