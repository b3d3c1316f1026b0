// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlprint

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Value converts a Go value to a node, with the fields of its [json.Marshal] encoding in the same order. [Print] prints the
// node as the encoder of go.yaml.in/yaml/v3 prints the equivalent Go value. Value exists because yaml.Node.Encode parses the
// encoder's output, which fails for some texts, such as a multi-line text that begins with a tab.
func Value(value any) (*yaml.Node, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode a %T: %w", value, err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return decode(d)
}

// decode reads the next JSON value.
func decode(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		if t == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, yaml.NodeTagSeq
		}
		for d.More() {
			below, err := decode(d)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, below)
		}
		_, err := d.Token() // consume the closing delimiter
		return n, err
	case string:
		return Text(t), nil
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Value: "null"}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(token)}, nil
}
