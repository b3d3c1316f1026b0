// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlprint

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Value returns the node of a value of Go, with the fields that [json.Marshal] gives it, in their order. [Print] prints it as the
// encoder of go.yaml.in/yaml/v3 would print a value with these fields. That encoder's own nodes do not work for every text: it makes them by reading
// what it has printed, which fails where a text of several lines begins with a tab.
func Value(value any) (*yaml.Node, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode a %T: %w", value, err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return decode(d)
}

// decode returns the node of the next value.
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
		_, err := d.Token() // the end of the mapping or sequence
		return n, err
	case string:
		return Text(t), nil
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Value: "null"}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(token)}, nil
}
