// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// convert reads an OpenAPI v2 document and writes one line per definition that is an object with fields, sorted by
// name: the name, the kinds it is the schema of, and the schema, separated by tabs.
func convert(openAPI []byte, out io.Writer) error {
	// The rest of the document describes paths; decoding it strictly would fail.
	var sections struct {
		Definitions json.RawMessage `json:"definitions"`
	}
	if err := json.Unmarshal(openAPI, &sections); err != nil {
		return err
	}
	if len(sections.Definitions) == 0 {
		return errors.New("it has no definitions")
	}
	var all definitions
	decoder := json.NewDecoder(bytes.NewReader(sections.Definitions))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&all); err != nil {
		return err
	}
	if quantity := all[quantityName]; quantity != nil {
		quantity.Format = quantityFormat
	}

	for _, name := range slices.Sorted(maps.Keys(all)) {
		def := all[name]
		if !def.shared() {
			continue
		}
		body, err := all.object(def)
		if err != nil {
			return fmt.Errorf("definition %s: %w", name, err)
		}
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("definition %s: %w", name, err)
		}
		if _, err := fmt.Fprintf(out, "%s\t%s\t%s\n", name, strings.Join(def.kinds(), ","), text); err != nil {
			return err
		}
	}
	return nil
}

// definitions are the types of an OpenAPI document by name.
type definitions map[string]*definition

// object converts a definition that has a line of its own. It allows null, as most fields that refer to it may be null.
func (all definitions) object(def *definition) (*schema, error) {
	if def.Type != "object" || def.Items != nil || def.AdditionalProperties != nil {
		return nil, errors.New("want an object of named fields and nothing else")
	}
	out := &schema{Type: []string{def.Type, "null"}, Required: def.Required, Properties: map[string]*schema{}}
	for field, value := range def.Properties {
		converted, err := all.value(value, slices.Contains(def.Required, field))
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", field, err)
		}
		out.Properties[field] = converted
	}
	for _, gvk := range def.Kinds {
		out.allow("apiVersion", gvk.apiVersion())
		out.allow("kind", gvk.Kind)
	}
	return out, nil
}

// value converts what a field, a list or a map holds. Unless it is required it may be null, which the API server takes
// for "not set".
func (all definitions) value(def *definition, required bool) (*schema, error) {
	switch {
	case def == nil:
		return nil, nil
	case def.Ref != "":
		return all.reference(def.Ref, required)
	case def.shared():
		return nil, errors.New("an object of named fields within another definition: want a reference to it")
	}

	out := &schema{Type: def.types()}
	if len(out.Type) > 0 && !required {
		out.Type = append(out.Type, "null")
	}
	if def.Format == "date-time" { // the only format of Kubernetes that JSON schema knows
		out.Format = def.Format
	}
	var err error
	if out.Items, err = all.value(def.Items, false); err != nil {
		return nil, err
	}
	out.AdditionalProperties, err = all.value(def.AdditionalProperties, false)
	return out, err
}

// reference converts a reference: to the name of an object, or to the schema of anything smaller in its place.
func (all definitions) reference(ref string, required bool) (*schema, error) {
	name, local := strings.CutPrefix(ref, "#/definitions/")
	target := all[name]
	switch {
	case !local || target == nil:
		return nil, fmt.Errorf("reference %q leads nowhere", ref)
	case !target.shared():
		return all.value(target, required)
	case required:
		return &schema{Type: []string{"object"}, AllOf: []*schema{{Ref: name}}}, nil
	default:
		return &schema{Ref: name}, nil
	}
}

// definition is a schema of OpenAPI v2 with the fields that Kubernetes publishes. It is decoded strictly: a keyword that
// is not listed here fails, as leaving it out unseen would make schemas that accept too much.
type definition struct {
	Ref                  string                 `json:"$ref"`
	Type                 string                 `json:"type"`
	Format               string                 `json:"format"`
	Properties           map[string]*definition `json:"properties"`
	Required             []string               `json:"required"`
	Items                *definition            `json:"items"`
	AdditionalProperties *definition            `json:"additionalProperties"`
	Kinds                []groupVersionKind     `json:"x-kubernetes-group-version-kind"`

	// What no resource can violate on its own.
	Description   json.RawMessage `json:"description"`
	ListType      json.RawMessage `json:"x-kubernetes-list-type"`
	ListMapKeys   json.RawMessage `json:"x-kubernetes-list-map-keys"`
	MapType       json.RawMessage `json:"x-kubernetes-map-type"`
	PatchMergeKey json.RawMessage `json:"x-kubernetes-patch-merge-key"`
	PatchStrategy json.RawMessage `json:"x-kubernetes-patch-strategy"`
	Unions        json.RawMessage `json:"x-kubernetes-unions"`
}

// shared tells whether the definition has a schema of its own that others refer to: whether it is an object with
// fields, or a kind.
func (def *definition) shared() bool {
	return len(def.Properties) > 0 || len(def.Kinds) > 0
}

// quantityName is the definition of quantities, such as 500m. quantityFormat marks it: unlike the other type of several
// JSON types, it comes without a format.
const (
	quantityName   = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	quantityFormat = "quantity"
)

// types returns the JSON types of a value; none means any. OpenAPI v2 has no way to say that a value is one of several
// types, so Kubernetes gives those the type string, although JSON numbers are as good.
func (def *definition) types() []string {
	switch {
	case def.Type == "":
		return nil
	case def.Format == "int-or-string":
		return []string{"integer", "string"}
	case def.Format == quantityFormat:
		return []string{"number", "string"}
	default:
		return []string{def.Type}
	}
}

// kinds lists what the definition is the schema of, sorted, each as apiVersion/kind.
func (def *definition) kinds() []string {
	names := make([]string, 0, len(def.Kinds))
	for _, gvk := range def.Kinds {
		names = append(names, gvk.apiVersion()+"/"+gvk.Kind)
	}
	slices.Sort(names)
	return names
}

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// apiVersion is the value of the field of that name in a resource.
func (gvk groupVersionKind) apiVersion() string {
	if gvk.Group == "" {
		return gvk.Version
	}
	return gvk.Group + "/" + gvk.Version
}

// schema is a JSON schema (draft 4) with the keywords that the conversion needs.
type schema struct {
	Ref                  string             `json:"$ref,omitempty"`
	AllOf                []*schema          `json:"allOf,omitempty"`
	Type                 []string           `json:"type,omitempty"`
	Format               string             `json:"format,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	Required             []string           `json:"required,omitempty"`
	Properties           map[string]*schema `json:"properties,omitempty"`
	Items                *schema            `json:"items,omitempty"`
	AdditionalProperties *schema            `json:"additionalProperties,omitempty"`
}

// allow adds a value to those that a field may have. It does nothing if the object has no such field.
func (s *schema) allow(field, value string) {
	if sub := s.Properties[field]; sub != nil && !slices.Contains(sub.Enum, value) {
		sub.Enum = append(sub.Enum, value)
	}
}
