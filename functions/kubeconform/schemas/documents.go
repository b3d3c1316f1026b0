// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"fmt"
	"iter"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// documents gives the compiler the parsed definitions that it asks for.
type documents struct {
	definitions map[string]string
	strict      bool
}

var _ jsonschema.URLLoader = documents{}

// Load returns the definition whose name a URL ends in. If strict, it allows only the fields it lists.
func (d documents) Load(url string) (any, error) {
	text, ok := d.definitions[strings.TrimPrefix(url, urlPrefix)]
	if !ok {
		return nil, fmt.Errorf("there is no Kubernetes schema %s", url)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parse Kubernetes schema %s: %w", url, err)
	}
	if object, ok := document.(map[string]any); ok && d.strict && object["properties"] != nil {
		object["additionalProperties"] = false // parts of a definition never have properties of their own
	}
	return document, nil
}

// references iterates over the names that a definition's text refers to.
func references(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			_, after, found := strings.Cut(text, `"$ref":"`)
			if !found {
				return
			}
			name, rest, _ := strings.Cut(after, `"`)
			if !yield(name) {
				return
			}
			text = rest
		}
	}
}
