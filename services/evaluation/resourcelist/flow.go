// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resourcelist

import (
	"bytes"
	"regexp"
)

// maxFlowDepth is how deep lists and mappings in flow style may be in each other.
const maxFlowDepth = 10

var (
	// flowScalar is a scalar in flow style that has no second meaning: a word, or text in quotes without escapes.
	flowScalar = regexp.MustCompile(`^(?:"[^"\\]*"|'[^']*'|-{0,2}[A-Za-z0-9_./][A-Za-z0-9_./=+@%-]*)`)
	// flowKey is a key in flow style with what is behind it.
	flowKey = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./-]{0,99}: `)
)

// inFlow tells whether a value is a list or a mapping in flow style that ends in its line.
func inFlow(value []byte) bool {
	rest, ok := flow(value, maxFlowDepth)
	return ok && len(rest) == 0
}

// flow returns what is behind a value in flow style, or false where it is not certain about it.
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
