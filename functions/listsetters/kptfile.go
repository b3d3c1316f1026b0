// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package listsetters

import (
	"errors"
	"fmt"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/functions/internal/setters"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// addDeclared notes the setters whose values the Kptfile hands to apply-setters; of two values the later one. There need
// not be any.
func (s foundSetters) addDeclared(items fn.KubeObjects) error {
	kf, err := kptfileOf(items)
	if err != nil || kf == nil || kf.Pipeline == nil {
		return err
	}
	for _, function := range kf.Pipeline.Mutators {
		if !strings.Contains(function.Image, "apply-setters") {
			continue
		}
		values := function.ConfigMap
		if config := origin.At(items, function.ConfigPath); config != nil {
			if values, err = functionconfig.Data(config); err != nil {
				return fmt.Errorf("read the values of setters in %s: %w", function.ConfigPath, err)
			}
		}
		for name, value := range values {
			if texts, ok := setters.ParseList(value); ok {
				s[name] = foundSetter{value: listValue(texts), kind: "array"}
			} else {
				s[name] = foundSetter{value: value, kind: "str"}
			}
		}
	}
	return nil
}

// kptfileOf reads the Kptfile of the package itself. It returns nil where there is none, or one of a version that kpt has
// given up.
func kptfileOf(items fn.KubeObjects) (*kptfilev1.KptFile, error) {
	item := origin.At(items, kptfile.FileName)
	if item == nil {
		return nil, nil
	}
	kf, err := kptfile.Parse(".", []byte(item.String()))
	if _, ok := errors.AsType[*kptfile.VersionError](err); ok {
		return nil, nil
	}
	if read, ok := errors.AsType[*kptfile.ReadError](err); ok {
		return nil, fmt.Errorf("unable to read Kptfile: invalid 'v1' Kptfile: %w", read.Err)
	}
	return kf, err
}
