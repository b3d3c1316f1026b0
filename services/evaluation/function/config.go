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

// DecodeConfig reads a functionConfig into a struct with JSON tags: the data of a ConfigMap, or the spec of an object of the
// function's own kind. It leaves the struct as it is if there is no functionConfig, so defaults can be set before.
//
// Unknown and repeated fields are errors, and so are other kinds. The values of a ConfigMap are strings: fields of numbers and
// booleans that come from one have the option "string" in their tag, as in `json:"replicas,string"`.
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
			return fmt.Errorf("functionConfig has the unknown field %q: fields of the configuration stand under %s", key, field)
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
