// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package validatecel

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestValidateCELConfig(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "no functionConfig",
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'the functionConfig is a "" of "": want a ConfigMap of v1 or a ValidateCEL of fn.kpt.dev/v1alpha1'
  resourceRef: {}
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "another kind",
			Config: `
apiVersion: v1
kind: Frog
metadata: {name: c}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'the functionConfig is a "Frog" of "v1": want a ConfigMap of v1 or a ValidateCEL of fn.kpt.dev/v1alpha1'
  resourceRef:
    name: c
    apiVersion: v1
    kind: Frog
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "no validations",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
variables: []
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'functionConfig: there are no expressions: add at least one validation'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "no data",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  {}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'functionConfig: there are no expressions: add at least one validation'
  resourceRef:
    name: c
    apiVersion: v1
    kind: ConfigMap
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "data is not a map",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  [a]
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: data of the functionConfig is not a map
  resourceRef:
    name: c
    apiVersion: v1
    kind: ConfigMap
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an unknown field",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validation: []
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'functionConfig: unknown field "validation"'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "unknown fields of rules",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations: [{expression: 'true', msg: x}, {expression: 'true', target: {kinds: [a]}}]
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'functionConfig: unknown field "validations[0].msg"'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a field in another case",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
Validations: [{expression: 'true'}]
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'functionConfig: unknown field "Validations"'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a field twice",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations: [{expression: 'true', expression: 'false'}]
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'functionConfig: yaml: unmarshal errors: line 4: key "expression" already set in map'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a wrong type",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations: {}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'functionConfig: validations must not be of type object'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a wrong type in a rule",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations: [{expression: 'true', target: {name: on}}]
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'functionConfig: validations.target.name must not be of type bool'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a wrong type of an expression",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  a: [b]
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: data.a of the functionConfig is not a string
  resourceRef:
    name: c
    apiVersion: v1
    kind: ConfigMap
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "another severity",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations: [{expression: 'true', severity: fatal}]
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'functionConfig: validations[0]: severity is "fatal": want error, warning or info'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a variable twice",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
variables: [{name: a, expression: '1'}, {name: a, expression: '2'}]
validations: [{expression: 'true'}]
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'functionConfig: variables[1]: duplicate name "a"'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "expressions that do not compile",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
variables:
- {name: later, expression: variables.a}
- {name: a, expression: object.}
- {name: a-b, expression: object.spec}
matchConditions:
- {name: size, expression: size(object)}
validations:
- {expression: ''}
- name: two
  expression: |
    object.spec == 1 &&
      nope == 1
- {expression: variables.a == 1 && variables.nope == 1}
- {expression: oldObject == null}
- {expression: "'a'"}
- {expression: 'true', messageExpression: '1'}
- {expression: "1 + 'a' == 2"}
- {expression: "'a'.matches('(')"}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- file:
    index: -1
  message: 'functionConfig: variables[0] (later): line 1, column 1: undeclared reference to ''variables'''
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
- file:
    index: -1
  message: 'functionConfig: variables[1] (a): line 1, column 8: Syntax error: no viable alternative at input ''.'''
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
- file:
    index: -1
  message: 'functionConfig: variables[2] (a-b): name is "a-b": want letters, digits and underscores'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
- file:
    index: -1
  message: 'functionConfig: matchConditions[0] (size): the expression is of type int: want bool'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
- file:
    index: -1
  message: 'functionConfig: validations[0]: expression must not be empty'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
- file:
    index: -1
  message: 'functionConfig: validations[1] (two): line 2, column 3: undeclared reference to ''nope'''
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
- file:
    index: -1
  message: 'functionConfig: validations[2]: line 1, column 30: undeclared reference to ''variables.nope'' (did you mean ''variables.a'' or ''variables.later''?)'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
- file:
    index: -1
  message: 'functionConfig: validations[3]: line 1, column 1: undeclared reference to ''oldObject'' (did you mean ''object''?)'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
- file:
    index: -1
  message: 'functionConfig: validations[4]: the expression is of type string: want bool'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
- file:
    index: -1
  message: 'functionConfig: validations[5] messageExpression: the expression is of type int: want string'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
- file:
    index: -1
  message: 'functionConfig: validations[6]: line 1, column 3: found no matching overload for ''_+_'' applied to ''(int, string)'''
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
- file:
    index: -1
  message: 'functionConfig: validations[7]: line 1, column 13: invalid matches argument'
  resourceRef:
    name: c
    apiVersion: fn.kpt.dev/v1alpha1
    kind: ValidateCEL
  severity: error
`,
			Err: functiontest.Failed,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
}
