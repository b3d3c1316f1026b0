// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/resource"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// parse reads the resources of a file. Each is annotated with where it came from. Documents that are empty, or have only
// comments, are no resources.
func parse(content []byte, file, location string) ([]*yaml.RNode, error) {
	if hidesText(content) {
		return nil, errors.New("a document goes on after its end mark (...): put the separator --- there")
	}
	resources, ok := readPlain(content, file, location)
	if !ok {
		var err error
		if resources, err = read(content, file, location); err != nil {
			return nil, err
		}
	}
	for i, r := range resources {
		if !yamlnode.Finite(r.YNode()) {
			return nil, fmt.Errorf("document %d has an anchor that contains itself", i)
		}
	}
	return resources, nil
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

// hidesText tells whether text follows a document's end mark. The parser stops there, so that the text would be lost
// without a word.
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

// readPlain reads the documents of a file as kio.ByteReader does, in half of the time, where all of them are plainly
// resources, as most are. Otherwise ok is false, and read is to read them, and to say what is wrong with them. FuzzPlain
// holds the two equal.
func readPlain(content []byte, file, location string) (resources []*yaml.RNode, ok bool) {
	text := string(content)
	if strings.Contains(text, "\r") {
		return nil, false
	}
	for document, separated := range documents(text) {
		if !separated {
			return nil, false
		}
		n, quick := readPlainDocument(document)
		var err error
		if !quick {
			n = &yaml.Node{}
			err = yaml.NewDecoder(strings.NewReader(document)).Decode(n)
		}
		if errors.Is(err, io.EOF) || err == nil && yaml.IsYNodeEmptyDoc(n) {
			continue
		}
		if err != nil || !plain(n) {
			return nil, false
		}
		r, index := yaml.NewRNode(n), strconv.Itoa(len(resources))
		err = resource.SetAnnotations(r, // in the order of their names
			resource.KeyValue{Key: resource.FormerIndexAnnotation, Value: index},
			resource.KeyValue{Key: resource.FormerPathAnnotation, Value: file},
			resource.KeyValue{Key: resource.IndexAnnotation, Value: index},
			resource.KeyValue{Key: resource.PackageAnnotation, Value: location},
			resource.KeyValue{Key: resource.PathAnnotation, Value: file},
			resource.KeyValue{Key: resource.SeqIndentAnnotation, Value: seqIndent(document)},
		)
		if err != nil {
			return nil, false
		}
		resources = append(resources, r)
	}
	return resources, true
}

// documents splits a file where lines begin with three dashes. separated is false where more than a comment follows those,
// or not even the end of the line.
func documents(content string) iter.Seq2[string, bool] {
	return func(yield func(document string, separated bool) bool) {
		for content != "" {
			at := strings.Index(content, "\n---")
			if at < 0 {
				yield(content, true)
				return
			}
			document := content[:at+1]
			separator, rest, ended := strings.Cut(content[at+len("\n---"):], "\n")
			separator = strings.TrimSpace(separator)
			if !yield(document, ended && (separator == "" || separator[0] == '#')) {
				return
			}
			content = rest
		}
	}
}

func seqIndent(document string) string {
	if !strings.Contains(document, "- ") {
		return string(yaml.CompactSequenceStyle)
	}
	return yaml.DeriveSeqIndentStyle(document)
}

// plain tells whether a document is a mapping with metadata in which annotations can be set without looking twice.
func plain(document *yaml.Node) bool {
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return false
	}
	metadata := sole(document.Content[0], yaml.MetadataField)
	if metadata == nil || metadata.Kind != yaml.MappingNode || metadata.Anchor != "" {
		return false
	}
	if yamlnode.Position(metadata, yaml.AnnotationsField) < 0 {
		return len(metadata.Content) > 0
	}
	annotations := sole(metadata, yaml.AnnotationsField)
	return annotations != nil && annotations.Kind == yaml.MappingNode && annotations.Anchor == "" && len(annotations.Content) > 0 &&
		!slices.ContainsFunc(annotations.Content, func(n *yaml.Node) bool {
			return n.Kind != yaml.ScalarNode || n.Tag != yaml.NodeTagString || slices.Contains(internalAnnotations, n.Value)
		})
}

// sole returns what a mapping has in a field, nil where it does not have it exactly once.
func sole(mapping *yaml.Node, key string) *yaml.Node {
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
