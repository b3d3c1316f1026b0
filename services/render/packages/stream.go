// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// CheckEnds refuses what goes on after the end mark of a document (...), where readers of YAML stop without a word.
func CheckEnds(content []byte) error {
	if hidesText(content) {
		return errHiddenText
	}
	return nil
}

// ParseStream reads the resources of a stream: a ResourceList, or documents. The annotations by which those of a list carry
// their place stay; documents are annotated with their place in the stream.
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
