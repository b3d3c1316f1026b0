// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

import (
	"encoding/json"
	"math"
	"reflect"
	"time"
)

// section is a mapping of an object. Its methods return the values of fields: those that are not there, are null or make no
// sense are zero, and the latter problems.
type section struct {
	path     string
	fields   map[string]any
	problems *[]string
}

func (s section) problem(name, text string) {
	*s.problems = append(*s.problems, s.path+"."+name+" "+text)
}

func (s section) section(name string) (section, bool) {
	value := s.fields[name]
	if value == nil {
		return section{}, false
	}
	fields, ok := value.(map[string]any)
	if !ok {
		s.problem(name, "is no object")
	}
	return section{s.path + "." + name, fields, s.problems}, ok
}

func (s section) text(name string) string {
	value := s.fields[name]
	text, ok := value.(string)
	if value != nil && !ok {
		s.problem(name, "is no string")
	}
	return text
}

func (s section) texts(name string) []string {
	value := s.fields[name]
	list, ok := value.([]any)
	if value != nil && !ok {
		s.problem(name, "is no list")
		return nil
	}
	var texts []string
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			s.problem(name, "has an item that is no string")
			continue
		}
		texts = append(texts, text)
	}
	return texts
}

// number returns 0 for what is less, too: it leaves the number to others.
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

// duration returns 0 for what is less, too.
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

// typed reads a value of a type of Kubernetes into a pointer.
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
		// A part of it may have been read.
		reflect.ValueOf(into).Elem().SetZero()
		s.problem(name, "is not what it is in a pod")
	}
}
