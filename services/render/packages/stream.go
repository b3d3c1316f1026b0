// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

// CheckEnds returns an error if text follows a document end marker (...), because YAML readers silently stop there.
func CheckEnds(content []byte) error {
	if hidesText(content) {
		return errHiddenText
	}
	return nil
}

// ParseStream returns the resources of a stream, which is a ResourceList or YAML documents. Items of a ResourceList keep their
// annotations for path and index; documents are annotated with their index in the stream.
func ParseStream(content []byte) ([]*yaml.RNode, error) {
	if err := CheckEnds(content); err != nil {
		return nil, err
	}
	resources, err := (&kio.ByteReader{Reader: bytes.NewReader(content), PreserveSeqIndent: true, WrapBareSeqNode: true}).Read()
	if err != nil {
		return nil, err
	}
	for i, r := range resources {
		if !yamlnode.Finite(r.YNode()) {
			return nil, fmt.Errorf("resource %d has an anchor that contains itself", i)
		}
		yamlnode.QuoteFolded(r.Document())
	}
	return resources, nil
}
