// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podpatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/internal/server/configfile"
)

const (
	apiVersion = "krmfn.dev/v1alpha1"
	kind       = "FunctionPods"
	// MaxSize is the maximum size of a file, in bytes. It is below the size limit of a ConfigMap.
	MaxSize = 1000 << 10
)

// Patches are the parsed settings of a file. They are immutable.
type Patches struct {
	defaults  []Patch
	overrides []override
}

// override is a patch for the images that match a pattern.
type override struct {
	images []pattern
	patch  Patch
}

// file and entry define the fields of a file; see fields.
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

// Parse parses the settings of function pods, which are one YAML document:
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
// The fields of metadata and spec are fields of a pod. null removes the value of the template or of an earlier entry, except in
// securityContext. Parse rejects unknown fields, and values that would weaken the isolation. Errors have one line and name the field.
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
	// The decoded fields do not distinguish null from a missing field.
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

// valued rejects a field without a value. If its content was commented out, the isolation that it should configure would be missing.
func valued(doc configfile.Document, names ...string) error {
	fields, _ := doc.Fields()
	for name, value := range fields {
		if slices.Contains(names, name) && value.Empty() {
			return configfile.Problem{Line: value.Line(), Text: name + " has no value: give it one, or leave it out"}
		}
	}
	return nil
}

// advised adds advice to the problem of an unsupported field of a pod.
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

// newPatch returns the patch for an entry. raw is the undecoded form of the entry.
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

// whole rejects a security context with null fields, which would remove fields of the template. It sets a missing localhostProfile to
// null, so that a profile without a file replaces a profile with one.
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
