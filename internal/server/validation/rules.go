// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// check returns the violation in a value of a field as "PATH: MESSAGE", with the path within the value. It returns "" for a valid
// value.
type check func(value protoreflect.Value) string

// rules are the implemented rules. Each function creates a check from the value of the rule in a proto file. The messages are
// the same as protovalidate's.
var rules = map[protoreflect.FullName]func(limit protoreflect.Value) check{
	"buf.validate.StringRules.min_len": func(limit protoreflect.Value) check {
		return atLeast(limit, characters, "must be at least %d characters")
	},
	"buf.validate.StringRules.max_bytes": func(limit protoreflect.Value) check {
		return atMost(limit, func(s protoreflect.Value) int { return len(s.String()) }, "must be at most %d bytes")
	},
	"buf.validate.StringRules.pattern": func(pattern protoreflect.Value) check {
		matches := regexp.MustCompile(pattern.String()).MatchString
		return must(func(s protoreflect.Value) bool { return matches(s.String()) }, "does not match regex pattern `%s`", pattern.String())
	},
	"buf.validate.StringRules.in": func(list protoreflect.Value) check {
		allowed := texts(list)
		return must(func(s protoreflect.Value) bool { return slices.Contains(allowed, s.String()) }, "must be in list [%s]", strings.Join(allowed, ", "))
	},
	"buf.validate.BytesRules.min_len": func(limit protoreflect.Value) check {
		return atLeast(limit, func(b protoreflect.Value) int { return len(b.Bytes()) }, "must be at least %d bytes")
	},
	"buf.validate.Int64Rules.gt": func(limit protoreflect.Value) check {
		return must(func(n protoreflect.Value) bool { return n.Int() > limit.Int() }, "must be greater than %d", limit.Int())
	},
	"buf.validate.RepeatedRules.min_items": func(limit protoreflect.Value) check {
		return atLeast(limit, length, "must contain at least %d item(s)")
	},
	"buf.validate.RepeatedRules.max_items": func(limit protoreflect.Value) check {
		return atMost(limit, length, "must contain no more than %d item(s)")
	},
	"buf.validate.RepeatedRules.unique": func(protoreflect.Value) check {
		return must(unique, "repeated value must contain unique items")
	},
}

// must returns a check that fails with a message unless pass holds for the value.
func must(pass func(protoreflect.Value) bool, format string, args ...any) check {
	violation := ": " + fmt.Sprintf(format, args...)
	return func(value protoreflect.Value) string {
		if pass(value) {
			return ""
		}
		return violation
	}
}

func atLeast(limit protoreflect.Value, size func(protoreflect.Value) int, format string) check {
	fits := func(value protoreflect.Value) bool { return uint64(size(value)) >= limit.Uint() } //nolint:gosec // sizes are not negative
	return must(fits, format, limit.Uint())
}

func atMost(limit protoreflect.Value, size func(protoreflect.Value) int, format string) check {
	fits := func(value protoreflect.Value) bool { return uint64(size(value)) <= limit.Uint() } //nolint:gosec // sizes are not negative
	return must(fits, format, limit.Uint())
}

func characters(s protoreflect.Value) int { return utf8.RuneCountInString(s.String()) }

func length(list protoreflect.Value) int { return list.List().Len() }

func unique(list protoreflect.Value) bool {
	all := texts(list)
	slices.Sort(all)
	return len(slices.Compact(all)) == length(list)
}

// texts returns the items of a list, formatted as text.
func texts(list protoreflect.Value) []string {
	all := make([]string, 0, length(list))
	for i := range length(list) {
		all = append(all, list.List().Get(i).String())
	}
	return all
}
