// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
)

var errHiddenText = errors.New("there is text after a document end marker (...): add the separator ---")

// parse returns the resources of a file, annotated with their origin. Documents that are empty or contain only comments are
// skipped.
func parse(content []byte, file, location string) ([]*yaml.RNode, error) {
	documents, err := parseDocuments(content, file, location)
	if err != nil {
		return nil, err
	}
	resources := make([]*yaml.RNode, 0, len(documents))
	for _, d := range documents {
		if d.resource != nil {
			resources = append(resources, d.resource)
		}
	}
	return resources, nil
}

// parseDocuments reads the documents of a file with the same result as kio.ByteReader. FuzzPlain compares the two.
func parseDocuments(content []byte, file, location string) ([]document, error) {
	if hidesText(content) {
		return nil, errHiddenText
	}
	documents, err := split(string(content))
	if err != nil {
		return nil, err
	}
	index := 0
	for i := range documents {
		d := &documents[i]
		text := strings.ReplaceAll(d.text, "\r\n", "\n")
		var ok bool
		if d.resource, ok = readPlain(text, index, file, location); !ok {
			if d.resource, err = readAny(text, index, file, location); err != nil {
				// kio's reader of the whole file reports the number of the broken document.
				_, whole := read(content, file, location)
				return nil, cmp.Or(whole, err)
			}
		}
		if d.resource == nil {
			continue
		}
		if !yamlnode.Finite(d.resource.YNode()) {
			return nil, fmt.Errorf("document %d has an anchor that contains itself", index)
		}
		if strings.Contains(text, ">") {
			yamlnode.QuoteFolded(d.resource.Document())
		}
		index++
	}
	return documents, nil
}

// readAny reads one document with kio.ByteReader. It returns nil for an empty document.
func readAny(text string, index int, file, location string) (*yaml.RNode, error) {
	resources, err := read([]byte(text), file, location)
	if err != nil || len(resources) == 0 {
		return nil, err
	}
	number := strconv.Itoa(index)
	return resources[0], resource.SetAnnotations(resources[0],
		resource.KeyValue{Key: resource.FormerIndexAnnotation, Value: number}, resource.KeyValue{Key: resource.IndexAnnotation, Value: number})
}

func read(content []byte, file, location string) ([]*yaml.RNode, error) {
	reader := kio.ByteReader{
		Reader:            bytes.NewReader(content),
		DisableUnwrapping: true,
		PreserveSeqIndent: true,
		WrapBareSeqNode:   true,
		SetAnnotations: map[string]string{
			resource.PathAnnotation:       file,
			resource.FormerPathAnnotation: file,
			resource.PackageAnnotation:    location,
		},
	}
	return reader.Read()
}

// hidesText reports whether text follows a document end marker. The YAML parser stops at the marker, so that text would be
// silently lost.
func hidesText(content []byte) bool {
	if !bytes.Contains(content, []byte("...")) {
		return false
	}
	ended := false
	for line := range strings.Lines(string(content)) {
		text, _, _ := strings.Cut(strings.TrimRight(line, " \t\r\n"), " #")
		switch {
		case strings.TrimRight(text, " \t") == "...":
			ended = true
		case strings.HasPrefix(line, "---"):
			ended = false
		case ended && strings.TrimSpace(line) != "" && !strings.HasPrefix(strings.TrimSpace(line), "#") && line[0] != '%':
			return true
		}
	}
	return false
}

// readPlain reads one document like readAny in half the time. ok is false if the document needs readAny. r is nil if the
// document is empty.
func readPlain(text string, index int, file, location string) (r *yaml.RNode, ok bool) {
	n, quick := readPlainDocument(text)
	if !quick {
		if n, ok = decodeDocument(text); !ok || n == nil {
			return nil, ok
		}
	}
	if !canAnnotateInPlace(n) {
		return nil, false
	}
	r = yaml.NewRNode(n)
	number := strconv.Itoa(index)
	err := resource.SetAnnotations(r, // sorted by name
		resource.KeyValue{Key: resource.FormerIndexAnnotation, Value: number},
		resource.KeyValue{Key: resource.FormerPathAnnotation, Value: file},
		resource.KeyValue{Key: resource.IndexAnnotation, Value: number},
		resource.KeyValue{Key: resource.PackageAnnotation, Value: location},
		resource.KeyValue{Key: resource.PathAnnotation, Value: file},
		resource.KeyValue{Key: resource.SeqIndentAnnotation, Value: seqIndent(text)},
	)
	return r, err == nil
}

// decodeDocument decodes a document whose root is a mapping. n is nil if the document is empty or has only comments. ok is
// false for any other document.
func decodeDocument(text string) (n *yaml.Node, ok bool) {
	n = &yaml.Node{}
	err := yaml.NewDecoder(strings.NewReader(text)).Decode(n)
	if errors.Is(err, io.EOF) || err == nil && yaml.IsYNodeEmptyDoc(n) {
		return nil, true
	}
	return n, err == nil && n.Kind == yaml.DocumentNode && len(n.Content) == 1 && n.Content[0].Kind == yaml.MappingNode
}

func seqIndent(document string) string {
	if !strings.Contains(document, "- ") {
		return string(yaml.CompactSequenceStyle)
	}
	return yaml.DeriveSeqIndentStyle(document)
}

// canAnnotateInPlace reports whether a document is a mapping whose metadata and annotations can be extended without kyaml: no
// anchors, duplicate keys, or existing origin annotations.
func canAnnotateInPlace(document *yaml.Node) bool {
	if document.Content[0].Kind != yaml.MappingNode {
		return false
	}
	metadata := singleValue(document.Content[0], yaml.MetadataField)
	if metadata == nil || metadata.Kind != yaml.MappingNode || metadata.Anchor != "" {
		return false
	}
	if yamlnode.Position(metadata, yaml.AnnotationsField) < 0 {
		return len(metadata.Content) > 0
	}
	annotations := singleValue(metadata, yaml.AnnotationsField)
	return annotations != nil && annotations.Kind == yaml.MappingNode && annotations.Anchor == "" && len(annotations.Content) > 0 &&
		!slices.ContainsFunc(annotations.Content, func(n *yaml.Node) bool {
			return n.Kind != yaml.ScalarNode || n.Tag != yaml.NodeTagString || slices.Contains(resource.PlaceAnnotations, n.Value)
		})
}

// singleValue returns the value of a mapping's key; nil if the key is missing or duplicated.
func singleValue(mapping *yaml.Node, key string) *yaml.Node {
	var found *yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if k := mapping.Content[i]; k.Value != key {
			continue
		}
		if found != nil {
			return nil
		}
		found = mapping.Content[i+1]
	}
	return found
}
