// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	strict "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// DecodeConfig decodes a functionConfig into a struct with JSON tags. The functionConfig is a ConfigMap, whose data is decoded, or an
// object of the function's own kind, whose spec is decoded. Without a functionConfig, the struct remains unchanged, so set defaults
// before the call.
//
// Unknown and duplicate fields are errors, and so are other kinds. The values of a ConfigMap are strings. Fields for numbers and
// booleans that may come from a ConfigMap need the option "string" in their tag, as in `json:"replicas,string"`.
func DecodeConfig(config *fn.KubeObject, kind string, into any) error {
	if config == nil || config.IsEmpty() {
		return nil
	}
	field := "spec"
	switch {
	case config.IsGVK("", "v1", "ConfigMap"):
		field = "data"
	case config.GetKind() != kind:
		return fmt.Errorf("functionConfig is of kind %s: use a ConfigMap or the kind %s", config.GetKind(), kind)
	}
	text, err := yaml.YAMLToJSONStrict([]byte(config.String()))
	if err != nil {
		return fmt.Errorf("read functionConfig: %w", err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return fmt.Errorf("read functionConfig: %w", err)
	}
	for key := range object {
		switch key {
		case "apiVersion", "kind", "metadata", field:
		default:
			return fmt.Errorf("functionConfig has the unknown field %q: put configuration fields under %s", key, field)
		}
	}
	if object[field] == nil {
		return nil
	}
	problems, err := strict.UnmarshalStrict(object[field], into)
	if err = errors.Join(append(problems, err)...); err != nil {
		return fmt.Errorf("%s of functionConfig: %s", field, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}
