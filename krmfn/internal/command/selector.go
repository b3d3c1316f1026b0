// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"github.com/spf13/pflag"
)

// selectorFlags are a selector of resources: all that is given must hold for one.
type selectorFlags struct {
	name                string
	selector            kptfilev1.Selector
	labels, annotations []string
}

func addSelectorFlags(flags *pflag.FlagSet, name, usage string) *selectorFlags {
	s := &selectorFlags{name: name}
	flags.StringVar(&s.selector.APIVersion, name+"-api-version", "", usage+" of this apiVersion")
	flags.StringVar(&s.selector.Kind, name+"-kind", "", usage+" of this kind")
	flags.StringVar(&s.selector.Name, name+"-name", "", usage+" of this name")
	flags.StringVar(&s.selector.Namespace, name+"-namespace", "", usage+" of this namespace")
	flags.StringArrayVar(&s.labels, name+"-labels", nil, usage+" with this label, KEY=VALUE; may be repeated")
	flags.StringArrayVar(&s.annotations, name+"-annotations", nil, usage+" with this annotation, KEY=VALUE; may be repeated")
	return s
}

// parse reads the labels and annotations.
func (s *selectorFlags) parse() error {
	for _, list := range []struct {
		flag   string
		values []string
		into   *map[string]string
	}{
		{s.name + "-labels", s.labels, &s.selector.Labels},
		{s.name + "-annotations", s.annotations, &s.selector.Annotations},
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

// list returns the selector; nothing where no flag is given.
func (s *selectorFlags) list() []kptfilev1.Selector {
	if s.selector.IsEmpty() {
		return nil
	}
	return []kptfilev1.Selector{s.selector}
}
