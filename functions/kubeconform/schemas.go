// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kubeconform

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/krmfn/krmfn/functions/kubeconform/schemas"
)

// schemaSource finds the schema of a kind. It returns nil when it has none.
type schemaSource interface {
	Schema(apiVersion, kind string) (*jsonschema.Schema, error)
}

// newSchemaSource makes the source of all locations that the options name.
func newSchemaSource(o options) (schemaSource, error) {
	var chain schemaChain
	for _, location := range o.locations {
		if location == bundledSchemas {
			chain = append(chain, schemas.Kubernetes(o.strict))
			continue
		}
		source, err := newSchemaLocation(location, o.strict)
		if err != nil {
			return nil, err
		}
		chain = append(chain, source)
	}
	return &schemaCache{source: chain, answers: map[string]schemaAnswer{}}, nil
}

// schemaChain asks sources in turn, for the first that has a schema. One that fails does not keep the next from being
// asked: its error is returned only when no other has the schema.
type schemaChain []schemaSource

func (chain schemaChain) Schema(apiVersion, kind string) (*jsonschema.Schema, error) {
	var failures []error
	for _, source := range chain {
		schema, err := source.Schema(apiVersion, kind)
		if err == nil && schema != nil {
			return schema, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// schemaCache asks a source once per kind, also when the answer was an error: it may have come from a server that does
// not answer, and took its time.
type schemaCache struct {
	source  schemaSource
	answers map[string]schemaAnswer // by apiVersion/kind
}

type schemaAnswer struct {
	schema *jsonschema.Schema
	err    error
}

func (c *schemaCache) Schema(apiVersion, kind string) (*jsonschema.Schema, error) {
	id := apiVersion + "/" + kind
	answer, ok := c.answers[id]
	if !ok {
		answer.schema, answer.err = c.source.Schema(apiVersion, kind)
		c.answers[id] = answer
	}
	return answer.schema, answer.err
}
