// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package createsetters

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/setters"
)

// newSetters are the setters that a functionConfig of create-setters asks for.
type newSetters struct {
	lists   []newListSetter
	scalars *strings.Replacer // replaces the value of each setter by the reference to it
}

// newListSetter is a setter whose value is a list.
type newListSetter struct {
	name  string
	texts []string // sorted
}

// newSettersOf reads the setters of a functionConfig. A value that is a map is not a setter's.
func newSettersOf(config *fn.KubeObject) (newSetters, error) {
	data, err := functionconfig.Data(config)
	if err != nil {
		return newSetters{}, err
	}
	if len(data) == 0 {
		return newSetters{}, errors.New("config map cannot be empty")
	}
	var wanted newSetters
	var scalars []string // names
	for _, name := range slices.Sorted(maps.Keys(data)) {
		value, err := yaml.Parse(data[name])
		if err != nil || value.IsNil() {
			return newSetters{}, errors.New("parsing error")
		}
		switch value.YNode().Kind {
		case yaml.ScalarNode:
			if data[name] == "" {
				return newSetters{}, errors.New("parsing error")
			}
			scalars = append(scalars, name)
		case yaml.SequenceNode:
			if texts, ok := setters.SortedTexts(value.YNode()); ok {
				wanted.lists = append(wanted.lists, newListSetter{name, texts})
			}
		}
	}
	// The replacer takes the first that fits: a value is to be found before one that is part of it.
	slices.SortStableFunc(scalars, func(a, b string) int { return cmp.Compare(len(data[b]), len(data[a])) })
	var pairs []string
	for _, name := range scalars {
		pairs = append(pairs, data[name], "${"+name+"}")
	}
	wanted.scalars = strings.NewReplacer(pairs...)
	return wanted, nil
}

// listOf returns the name of the setter whose value a list is.
func (s newSetters) listOf(list *yaml.Node) (name string, texts []string, ok bool) {
	texts, ok = setters.SortedTexts(list)
	if !ok {
		return "", nil, false
	}
	for _, setter := range s.lists {
		if slices.Equal(setter.texts, texts) {
			return setter.name, texts, true
		}
	}
	return "", nil, false
}

// patternOf returns the pattern of setters that a text is made of, and whether there is one. A text of several lines has
// none, as its comment would not be read as its own.
func (s newSetters) patternOf(text string) (string, bool) {
	pattern := s.scalars.Replace(text)
	return pattern, pattern != text && !strings.ContainsAny(pattern, "\n\r\u0085\u2028\u2029")
}
