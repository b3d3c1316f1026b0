// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

const (
	meta = "io.k8s.apimachinery.pkg."
	// frog is a document with a field of every kind in the Kubernetes document.
	frog = `{"paths": {"/": {"any": "thing"}}, "definitions": {
	"frog": {
		"description": "A frog.", "type": "object", "required": ["tongue", "colour", "port", "born"],
		"properties": {
			"apiVersion": {"type": "string"},
			"kind": {"type": "string"},
			"anything": {"$ref": "#/definitions/anything"},
			"born": {"$ref": "#/definitions/time"},
			"children": {"type": "array", "items": {"$ref": "#/definitions/frog"}, "x-kubernetes-list-type": "atomic"},
			"colour": {"type": "string", "format": "byte"},
			"labels": {"type": "object", "additionalProperties": {"type": "string"}},
			"port": {"$ref": "#/definitions/port"},
			"seen": {"$ref": "#/definitions/time"},
			"teeth": {"type": "integer", "format": "int32"},
			"tongue": {"$ref": "#/definitions/tongue", "description": "The tongue."},
			"toes": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
			"weight": {"$ref": "#/definitions/` + meta + `api.resource.Quantity"}
		},
		"x-kubernetes-group-version-kind": [
			{"group": "example.com", "version": "v1", "kind": "Frog"}, {"group": "", "version": "v1", "kind": "Frog"}
		]
	},
	"anything": {"description": "Any JSON."},
	"port": {"type": "string", "format": "int-or-string"},
	"time": {"type": "string", "format": "date-time"},
	"tongue": {"type": "object", "properties": {"spare": {"$ref": "#/definitions/tongue"}}},
	"` + meta + `api.resource.Quantity": {"type": "string"}
}}`

	frogLines = `frog	example.com/v1/Frog,v1/Frog	{"type":["object","null"],"required":["tongue","colour","port","born"],"properties":{` +
		`"anything":{},` +
		`"apiVersion":{"type":["string","null"],"enum":["example.com/v1","v1"]},` +
		`"born":{"type":["string"],"format":"date-time"},` +
		`"children":{"type":["array","null"],"items":{"$ref":"frog"}},` +
		`"colour":{"type":["string"]},` +
		`"kind":{"type":["string","null"],"enum":["Frog"]},` +
		`"labels":{"type":["object","null"],"additionalProperties":{"type":["string","null"]}},` +
		`"port":{"type":["integer","string"]},` +
		`"seen":{"type":["string","null"],"format":"date-time"},` +
		`"teeth":{"type":["integer","null"]},` +
		`"toes":{"type":["array","null"],"items":{"type":["array","null"],"items":{"type":["number","null"]}}},` +
		`"tongue":{"allOf":[{"$ref":"tongue"}],"type":["object"]},` +
		`"weight":{"type":["number","string","null"]}}}
tongue		{"type":["object","null"],"properties":{"spare":{"$ref":"tongue"}}}
`
)

func TestConvert(t *testing.T) {
	t.Parallel()
	for range 10 { // the result must not depend on the order of maps
		var got bytes.Buffer
		if err := convert([]byte(frog), &got); err != nil {
			t.Fatal(err)
		}
		if got.String() != frogLines {
			t.Fatalf("convert() wrote:\n%s\nwant:\n%s", got.String(), frogLines)
		}
	}
}

func TestConvertErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ document, want string }{
		"no JSON":         {"<html>", "invalid character"},
		"no definitions":  {`{"paths": {}}`, "the document has no definitions"},
		"unknown keyword": {`{"definitions": {"a": {"type": "string", "pattern": "x"}}}`, `unknown field "pattern"`},
		"references elsewhere": {
			`{"definitions": {"a": {"type": "object", "properties": {"b": {"$ref": "b.json"}}}}}`,
			`definition a: field b: reference "b.json" has no target`,
		},
		"references to nothing": {
			`{"definitions": {"a": {"type": "object", "properties": {"b": {"items": {"$ref": "#/definitions/b"}}}}}}`,
			`definition a: field b: reference "#/definitions/b" has no target`,
		},
		"objects within objects": {
			`{"definitions": {"a": {"type": "object", "properties": {"b": {"properties": {"c": {}}}}}}}`,
			"definition a: field b: an object with named fields within another definition",
		},
		"fields of an array": {
			`{"definitions": {"a": {"type": "array", "properties": {"b": {}}}}}`,
			"definition a: want an object with named fields only",
		},
		"kinds that are a map": {
			`{"definitions": {"a": {"type": "object", "additionalProperties": {}, "x-kubernetes-group-version-kind": [{}]}}}`,
			"definition a: want an object with named fields only",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			err := convert([]byte(test.document), &got)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("convert() error = %v, want %q", err, test.want)
			}
		})
	}
}

func TestRunFlagErrors(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"none":         {},
		"one missing":  {"-version", "v1.36.3", "-out", "x"},
		"an argument":  {"-version", "v1.36.3", "-sum", "h1:x", "-out", "x", "y"},
		"unknown flag": {"-release", "v1.36.3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			if err := run(t.Context(), args, &stderr); err == nil {
				t.Errorf("run(%v) succeeded, want an error", args)
			}
		})
	}
}
