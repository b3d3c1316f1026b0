// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package applysetters

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

// setters is a functionConfig. Only its data matters, not its kind.
const setters = `
data:
  a: "3"
  b: 'x: y'
  t: "true"
  o: 012
  m: "one\ntwo"
  none: ""
  nil: ~
  image: ubuntu
  list: "[x, 'y', {z: 1}]"
  empty: "[]"
`

func TestApplySetters(t *testing.T) {
	t.Parallel()
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name:   "scalars keep their quotes",
			Config: setters,
			Items: `
- apiVersion: v1
  kind: A
  metadata:
    name: a
    annotations:
      config.kubernetes.io/path: 'dir/a.yaml'
      config.kubernetes.io/index: '4'
  double: "1" # kpt-set: ${a}
  single: '1' # kpt-set: ${a}
  plain: x # kpt-set: ${a}
  literal: | # kpt-set: ${a}
    x
  quotesNeeded: x # kpt-set: ${b}
  bool: x # kpt-set: ${t}
  octal: 1 # kpt-set: ${o}
  lines: x # kpt-set: ${m}
  empty: x # kpt-set: ${none}
  nil: x # kpt-set: ${nil}
  list:
  - nested: [q] # not a setter
    deep:
    - - "1" # kpt-set: ${a}
`,
			Want: `
items:
- apiVersion: v1
  kind: A
  metadata:
    name: a
    annotations:
      config.kubernetes.io/path: 'dir/a.yaml'
      config.kubernetes.io/index: '4'
  double: "3" # kpt-set: ${a}
  single: '3' # kpt-set: ${a}
  plain: 3 # kpt-set: ${a}
  literal: |- # kpt-set: ${a}
    3
  quotesNeeded: 'x: y' # kpt-set: ${b}
  bool: true # kpt-set: ${t}
  octal: 012 # kpt-set: ${o}
  lines: |- # kpt-set: ${m}
    one
    two
  empty: "" # kpt-set: ${none}
  nil: "" # kpt-set: ${nil}
  list:
  - nested: [q] # not a setter
    deep:
    - - "3" # kpt-set: ${a}
results:
- field:
    path: double
  file:
    path: dir/a.yaml
  message: set field value to "3"
- field:
    path: single
  file:
    path: dir/a.yaml
  message: set field value to "3"
- field:
    path: plain
  file:
    path: dir/a.yaml
  message: set field value to "3"
- field:
    path: literal
  file:
    path: dir/a.yaml
  message: set field value to "3"
- field:
    path: quotesNeeded
  file:
    path: dir/a.yaml
  message: 'set field value to "x: y"'
- field:
    path: bool
  file:
    path: dir/a.yaml
  message: set field value to "true"
- field:
    path: octal
  file:
    path: dir/a.yaml
  message: set field value to "012"
- field:
    path: lines
  file:
    path: dir/a.yaml
  message: set field value to "one\ntwo"
- field:
    path: empty
  file:
    path: dir/a.yaml
  message: set field value to ""
- field:
    path: nil
  file:
    path: dir/a.yaml
  message: set field value to ""
- field:
    path: list[0].deep[0][0]
  file:
    path: dir/a.yaml
  message: set field value to "3"
`,
		},
		{
			Name:   "patterns and other comments",
			Config: setters,
			Items: `
- kind: A
  derived: nginx:1.7.9 # kpt-set: ${image}:${tag}
  other: x # kpt-set: ${unknown}
  close: x #kpt-set: ${a}
  second: x # y # kpt-set: ${a}
  # kpt-set: ${a}
  head: x
  spaces: 1 # kpt-set:   ${a}
`,
			Want: `
items:
- kind: A
  derived: ubuntu:1.7.9 # kpt-set: ${image}:${tag}
  other: x # kpt-set: ${unknown}
  close: x #kpt-set: ${a}
  second: x # y # kpt-set: ${a}
  # kpt-set: ${a}
  head: x
  spaces: 3 # kpt-set:   ${a}
results:
- field:
    path: derived
  message: set field value to "ubuntu:1.7.9"
- field:
    path: spaces
  message: set field value to "3"
`,
		},
		{
			Name:   "lists",
			Config: setters,
			Items: `
- kind: A
  block: # kpt-set: ${list}
    - a # gone
    - b
  flow: [a, b] # kpt-set: ${list}
  after: x
  wasEmpty: [] # kpt-set: ${list}
  blockToEmpty: # kpt-set: ${empty}
    - a
  flowToEmpty: [a] # kpt-set: ${empty}
  blockToNothing: # kpt-set: ${none}
    - a
  flowToNothing: [a] # kpt-set: ${none}
  nested:
    last: [a] # kpt-set: ${list}
- kind: B
  metadata: {annotations: {internal.config.kubernetes.io/path: b.yaml}}
  first: [a] # kpt-set: ${empty}
`,
			Want: `
items:
- kind: A
  block: # kpt-set: ${list}
  - x
  - 'y'
  - {z: 1}
  flow: # kpt-set: ${list}
  - x
  - 'y'
  - {z: 1}
  after: x
  wasEmpty: # kpt-set: ${list}
  - x
  - 'y'
  - {z: 1}
  blockToEmpty: [] # kpt-set: ${empty}
  flowToEmpty: [] # kpt-set: ${empty}
  blockToNothing: [] # kpt-set: ${none}
  flowToNothing: [] # kpt-set: ${none}
  nested:
    last: # kpt-set: ${list}
    - x
    - 'y'
    - {z: 1}
- kind: B
  metadata: {annotations: {internal.config.kubernetes.io/path: b.yaml}}
  first: [] # kpt-set: ${empty}
results:
- field:
    path: block
  message: 'set field value to "[x, ''y'', {z: 1}]"'
- field:
    path: flow
  message: 'set field value to "[x, ''y'', {z: 1}]"'
- field:
    path: wasEmpty
  message: 'set field value to "[x, ''y'', {z: 1}]"'
- field:
    path: blockToEmpty
  message: set field value to "[]"
- field:
    path: flowToEmpty
  message: set field value to "[]"
- field:
    path: blockToNothing
  message: set field value to ""
- field:
    path: flowToNothing
  message: set field value to ""
- field:
    path: nested.last
  message: 'set field value to "[x, ''y'', {z: 1}]"'
- field:
    path: first
  file:
    path: b.yaml
  message: set field value to "[]"
`,
		},
		{
			Name:  "no functionConfig",
			Items: "- {kind: A, a: 1}\n",
			Want:  "items:\n- {kind: A, a: 1}\nresults:\n- message: no matches for input setter(s)\n",
		},
		{
			Name:   "no items",
			Config: setters,
			Want:   "results:\n- message: no matches for input setter(s)\n",
		},
	})
}

func TestApplySettersErrors(t *testing.T) {
	t.Parallel()
	result := func(message string) string {
		return "results:\n- message: 'failed to apply setters: " + message + "'\n  severity: error\n"
	}
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name:   "a value that cannot be derived",
			Config: setters,
			Items:  "- kind: A\n  a: 1 # kpt-set: ${a}\n  b: none # kpt-set: ${image}:${tag}\n",
			Want: "items:\n- kind: A\n  a: 3 # kpt-set: ${a}\n  b: none # kpt-set: ${image}:${tag}\n" +
				result("values for setters [${tag}] must be provided"),
			Err: functiontest.Failed,
		},
		{
			Name:   "a pattern for a list",
			Config: setters,
			Items:  "- kind: A\n  a: # kpt-set: ${a}-${b}\n  - x\n",
			Want: "items:\n- kind: A\n  a: # kpt-set: ${a}-${b}\n  - x\n" +
				result(`invalid setter pattern for array node: "${a}-${b}"`),
			Err: functiontest.Failed,
		},
		{
			Name:   "a value is not a list",
			Config: setters,
			Items:  "- kind: A\n  a: [x] # kpt-set: ${image}\n",
			Want: "items:\n- kind: A\n  a: [x] # kpt-set: ${image}\n" +
				result(`input to array setter must be an array of values, but found "ubuntu"`),
			Err: functiontest.Failed,
		},
	})
}
