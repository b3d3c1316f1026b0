// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"fmt"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"github.com/spf13/pflag"
)

// selector is the flags that select resources: a resource must satisfy all that are given.
type selector struct {
	name                string
	selected            kptfilev1.Selector
	labels, annotations []string
}

func addSelector(flags *pflag.FlagSet, name, usage string) *selector {
	s := &selector{name: name}
	flags.StringVar(&s.selected.APIVersion, name+"-api-version", "", usage+" of this apiVersion")
	flags.StringVar(&s.selected.Kind, name+"-kind", "", usage+" of this kind")
	flags.StringVar(&s.selected.Name, name+"-name", "", usage+" of this name")
	flags.StringVar(&s.selected.Namespace, name+"-namespace", "", usage+" of this namespace")
	flags.StringArrayVar(&s.labels, name+"-labels", nil, usage+" with this label, KEY=VALUE; may be repeated")
	flags.StringArrayVar(&s.annotations, name+"-annotations", nil, usage+" with this annotation, KEY=VALUE; may be repeated")
	return s
}

func (s *selector) parse() error {
	for _, list := range []struct {
		flag   string
		values []string
		into   *map[string]string
	}{
		{s.name + "-labels", s.labels, &s.selected.Labels},
		{s.name + "-annotations", s.annotations, &s.selected.Annotations},
	} {
		for _, kv := range list.values {
			key, value, ok := strings.Cut(kv, "=")
			if !ok || key == "" {
				return fmt.Errorf("--%s must have keys and values separated by =, got %q", list.flag, kv)
			}
			if *list.into == nil {
				*list.into = map[string]string{}
			}
			(*list.into)[key] = value
		}
	}
	return nil
}

// list returns the selector; empty if no flag is given.
func (s *selector) list() []kptfilev1.Selector {
	if s.selected.IsEmpty() {
		return nil
	}
	return []kptfilev1.Selector{s.selected}
}
