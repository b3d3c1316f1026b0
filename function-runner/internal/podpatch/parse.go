// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podpatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/services/server/configfile"
)

const (
	apiVersion = "krmfn.dev/v1alpha1"
	kind       = "FunctionPods"
	// MaxSize is the most bytes of a file. A ConfigMap can have no more, together with what else is in it.
	MaxSize = 1000 << 10
)

// Patches are those of a file. They do not change.
type Patches struct {
	defaults  []Patch
	overrides []override
}

// override is a patch for some images.
type override struct {
	images []pattern
	patch  Patch
}

// file and entry have what may be in a file; see fields.
type file struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Defaults   fields  `json:"defaults"`
	Overrides  []entry `json:"overrides"`
}

type entry struct {
	Images []string `json:"images"`
	fields
}

// Parse reads the settings of function pods, one YAML document:
//
//	apiVersion: krmfn.dev/v1alpha1
//	kind: FunctionPods
//	defaults:                                # for all functions
//	  metadata: {labels: {team: platform}}
//	  spec: {nodeSelector: {pool: functions}}
//	overrides:                               # for some; all that match are merged, in their order
//	- images: [r.io/untrusted/*, r.io/team/fn]
//	  spec: {runtimeClassName: gvisor}
//
// The fields of metadata and spec are those of a pod. null removes what the template or an earlier entry says, except in
// securityContext. The errors, one line, name the field: unknown ones, and values that would loosen the isolation, are refused.
func Parse(text []byte) (*Patches, error) {
	doc, err := document(text)
	if err != nil {
		return nil, err
	}
	var f file
	problems, err := doc.Decode(&f)
	switch {
	case err != nil:
		return nil, err
	case len(problems) > 0:
		return nil, advised(problems[0])
	case f.APIVersion != apiVersion || f.Kind != kind:
		return nil, fmt.Errorf("it has apiVersion %q and kind %q: want %s and %s", f.APIVersion, f.Kind, apiVersion, kind)
	}
	// What is null cannot be told from what is left out in the fields.
	var raw struct {
		Defaults  map[string]any   `json:"defaults"`
		Overrides []map[string]any `json:"overrides"`
	}
	if _, err := doc.Decode(&raw); err != nil {
		return nil, err
	}
	if err := valued(doc, "defaults", "overrides"); err != nil {
		return nil, err
	}
	p := &Patches{}
	if len(raw.Defaults) > 0 {
		patch, err := newPatch(&f.Defaults, raw.Defaults)
		if err != nil {
			return nil, fmt.Errorf("defaults.%w", err)
		}
		p.defaults = append(p.defaults, patch)
	}
	for i, e := range f.Overrides {
		o, err := newOverride(&e, raw.Overrides[i])
		if err != nil {
			return nil, fmt.Errorf("overrides[%d].%w", i, err)
		}
		p.overrides = append(p.overrides, o)
	}
	return p, nil
}

func document(text []byte) (configfile.Document, error) {
	if len(text) > MaxSize {
		return configfile.Document{}, fmt.Errorf("it has more than %d bytes", MaxSize)
	}
	doc, err := configfile.Parse(text)
	switch {
	case err != nil:
		return doc, err
	case doc.Empty():
		return doc, errors.New("it is empty: give it apiVersion and kind")
	case doc.More:
		return doc, errors.New("it has more than one document: put all settings into one")
	}
	return doc, nil
}

// valued refuses fields without a value: those whose content has all been commented out may have been meant to isolate.
func valued(doc configfile.Document, names ...string) error {
	fields, _ := doc.Fields()
	for name, value := range fields {
		if slices.Contains(names, name) && value.Empty() {
			return configfile.Problem{Line: value.Line(), Text: name + " has no value: give it one, or leave it out"}
		}
	}
	return nil
}

// advised says of a field of a pod that is not one of those, what to do.
func advised(p configfile.Problem) error {
	if strings.Contains(p.Text, "metadata.") || strings.Contains(p.Text, "spec.") {
		return fmt.Errorf("%w: only labels, annotations, and settings for isolation and scheduling are allowed here: use a pod template of your own for other fields", p)
	}
	return p
}

func newOverride(e *entry, raw map[string]any) (o override, err error) {
	if len(e.Images) == 0 {
		return o, errors.New("images is empty: name the images that it is for, or write it under defaults")
	}
	for i, image := range e.Images {
		p, err := newPattern(image)
		if err != nil {
			return o, fmt.Errorf("images[%d]: %w", i, err)
		}
		o.images = append(o.images, p)
	}
	o.patch, err = newPatch(&e.fields, raw)
	return o, err
}

// newPatch returns the patch that fields, which raw has as they were written, stand for.
func newPatch(f *fields, raw map[string]any) (Patch, error) {
	if err := f.check(); err != nil {
		return Patch{}, err
	}
	for _, part := range []string{"metadata", "spec"} {
		if value, ok := raw[part]; ok && value == nil {
			return Patch{}, fmt.Errorf("%s has no value: give it one, or leave it out", part)
		}
	}
	spec, _ := raw["spec"].(map[string]any)
	if security, ok := spec["securityContext"]; ok {
		if err := whole(security); err != nil {
			return Patch{}, err
		}
	}
	patch := map[string]any{}
	for _, part := range []string{"metadata", "spec"} {
		if value, ok := raw[part]; ok {
			patch[part] = value
		}
	}
	content, err := json.Marshal(patch)
	if err != nil {
		return Patch{}, fmt.Errorf("spec: %w", err)
	}
	return Patch{content: content}, nil
}

// whole refuses a security context with fields that are null, which would remove what the template says. It completes profiles: one
// without a file takes the place of one with a file.
func whole(security any) error {
	fields, _ := security.(map[string]any)
	for _, name := range []string{"seccompProfile", "appArmorProfile"} {
		value, ok := fields[name]
		profile, isObject := value.(map[string]any)
		if ok && !isObject {
			return fmt.Errorf("spec.securityContext.%s has no value: give it one, or leave it out", name)
		}
		if isObject && profile["localhostProfile"] == nil {
			profile["localhostProfile"] = nil
		}
	}
	if len(fields) == 0 {
		return errors.New("spec.securityContext has no value: give it one, or leave it out")
	}
	return nil
}
