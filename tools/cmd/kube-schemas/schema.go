// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "slices"

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
