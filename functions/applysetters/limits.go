// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package applysetters

import (
	"fmt"
	"strings"

	"github.com/kptdev/krm-functions-catalog/functions/go/apply-setters/applysetters"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	comments "github.com/krmfn/krmfn/functions/internal/setters"
)

const (
	// maxText is the limit in bytes for text that one call puts into fields and results.
	maxText = 64 << 20
	// listFactor is the ratio of a list's memory to its text.
	listFactor = 16
	// maxReferences is the maximum number of setter references in the current value of a field.
	maxReferences = 3
)

var (
	errTooLong    = fmt.Errorf("the setters put more than %d MiB of text into fields and results: shorten their values", maxText>>20)
	errReferences = fmt.Errorf("a field's value refers to more than %d setters: give their values", maxReferences)
)

// budget is the number of bytes that a call may still put into fields and results. It is checked before fields are set, because a
// comment may name a setter many times, and a setter's value may refer to other setters.
type budget struct {
	setters []applysetters.Setter
	left    int
}

// take subtracts the cost of setting the fields at and below a node. path is the length of the node's path.
func (b *budget) take(node *yaml.Node, path int) error {
	if node.Kind == yaml.ScalarNode {
		return b.scalar(node, path)
	}
	for i, value := range node.Content {
		below := path + len("[0]")
		if node.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			key := node.Content[i-1]
			below = path + len(".") + len(key.Value)
			if value.Kind == yaml.SequenceNode {
				if err := b.list(comments.Pattern(comments.ListComment(key, value)), below); err != nil {
					return err
				}
			}
		}
		if err := b.take(value, below); err != nil {
			return err
		}
	}
	return nil
}

func (b *budget) list(pattern string, path int) error {
	for _, setter := range b.setters {
		if pattern == reference(setter) {
			return b.spend(len(setter.Value)*listFactor + path)
		}
	}
	return nil
}

func (b *budget) scalar(node *yaml.Node, path int) error {
	text := comments.Pattern(node.LineComment)
	set := false
	for _, setter := range b.setters {
		count := strings.Count(text, reference(setter))
		if count == 0 {
			continue
		}
		set = true
		if size := len(text) + count*(len(setter.Value)-len(reference(setter))); size > b.left {
			return errTooLong
		}
		text = strings.ReplaceAll(text, reference(setter), setter.Value)
	}
	if !set {
		return nil
	}
	size := len(text)
	if unset := strings.Count(text, "${"); unset > 0 {
		if strings.Count(node.Value, "${") > maxReferences {
			return errReferences
		}
		// Setters without a given value get it from the field's current value.
		for range maxReferences {
			size += unset * len(node.Value)
		}
	}
	return b.spend(2*size + path)
}

func (b *budget) spend(bytes int) error {
	if b.left -= bytes; b.left < 0 {
		return errTooLong
	}
	return nil
}

func reference(setter applysetters.Setter) string { return "${" + setter.Name + "}" }
