// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

import (
	"encoding/json"
	"math"
	"reflect"
	"time"
)

// section is a mapping within an object. Its methods return the values of fields. A missing, null or invalid field has the zero value. An
// invalid field is also reported as a problem.
type section struct {
	path     string
	fields   map[string]any
	problems *[]Problem
}

func (s section) problem(name, text string) {
	*s.problems = append(*s.problems, Problem{Field: s.path + "." + name, Text: text})
}

// field returns a field of type T. kind names the type in the problem.
func field[T any](s section, name, kind string) T {
	value, ok := s.fields[name].(T)
	if !ok && s.fields[name] != nil {
		s.problem(name, "is no "+kind)
	}
	return value
}

func (s section) section(name string) (section, bool) {
	fields := field[map[string]any](s, name, "object")
	return section{s.path + "." + name, fields, s.problems}, fields != nil
}

func (s section) text(name string) string { return field[string](s, name, "string") }

func (s section) texts(name string) []string {
	var texts []string
	for _, item := range field[[]any](s, name, "list") {
		text, ok := item.(string)
		if !ok {
			s.problem(name, "has an item that is no string")
			continue
		}
		texts = append(texts, text)
	}
	return texts
}

// number returns a field as an int. Negative numbers count as 0, which means the default.
func (s section) number(name string) int {
	switch n := s.fields[name].(type) {
	case nil:
		return 0
	case int64:
		if n <= math.MaxInt32 {
			return int(max(n, 0))
		}
	case float64:
		if n == math.Trunc(n) && n <= math.MaxInt32 {
			return int(max(n, 0))
		}
	}
	s.problem(name, "is no number up to 2147483647")
	return 0
}

// duration returns a field as a duration. Negative durations count as 0, which means the default.
func (s section) duration(name string) time.Duration {
	text := s.text(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		s.problem(name, "is no duration such as 30m")
	}
	return max(d, 0)
}

// typed decodes a field into a pointer to a Kubernetes type.
func (s section) typed(name string, into any) {
	value := s.fields[name]
	if value == nil {
		return
	}
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		// A failed decoding may have set a part of the value.
		reflect.ValueOf(into).Elem().SetZero()
		s.problem(name, "is not what it is in a pod")
	}
}
