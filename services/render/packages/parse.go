// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"errors"
	"fmt"
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
