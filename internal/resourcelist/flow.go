// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resourcelist

import (
	"bytes"
	"regexp"
)

// maxFlowDepth is the maximum nesting depth of sequences and mappings in flow style.
const maxFlowDepth = 10

var (
	// flowScalar matches an unambiguous scalar in flow style: a word, or quoted text without escapes.
	flowScalar = regexp.MustCompile(`^(?:"[^"\\]*"|'[^']*'|-{0,2}[A-Za-z0-9_./][A-Za-z0-9_./=+@%-]*)`)
	// flowKey matches a key in flow style, including the colon and space.
	flowKey = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./-]{0,99}: `)
)

// inFlow reports whether a value is a complete sequence or mapping in flow style.
func inFlow(value []byte) bool {
	rest, ok := flow(value, maxFlowDepth)
	return ok && len(rest) == 0
}

// flow returns the rest after a value in flow style, or false if it does not recognise the value.
func flow(value []byte, depth int) (rest []byte, ok bool) {
	if depth == 0 || len(value) < 2 {
		return nil, false
	}
	var end byte
	switch value[0] {
	case '[':
		end = ']'
	case '{':
		end = '}'
	default:
		n := len(flowScalar.Find(value))
		return value[n:], n > 0
	}
	rest = value[1:]
	for first := true; ; first = false {
		switch {
		case len(rest) > 0 && rest[0] == end:
			return rest[1:], true
		case !first && !bytes.HasPrefix(rest, []byte(", ")):
			return nil, false
		case !first:
			rest = rest[2:]
		}
		if end == '}' {
			key := flowKey.Find(rest)
			if key == nil {
				return nil, false
			}
			rest = rest[len(key):]
		}
		if rest, ok = flow(rest, depth-1); !ok {
			return nil, false
		}
	}
}
