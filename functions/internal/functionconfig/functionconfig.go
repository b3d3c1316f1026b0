// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functionconfig reads functionConfigs.
package functionconfig

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Data returns the data of a ConfigMap. It accepts unquoted numbers and booleans and returns their text.
func Data(config *fn.KubeObject) (map[string]string, error) {
	data := yamlnode.Field(function.NodeOf(config), "data")
	if yamlnode.IsNull(data) {
		return nil, nil
	}
	if data.Kind != yaml.MappingNode {
		return nil, errors.New("data of the functionConfig is not a map")
	}
	texts := make(map[string]string, len(data.Content)/2)
	for i := 0; i+1 < len(data.Content); i += 2 {
		key, value := data.Content[i].Value, yamlnode.Resolve(data.Content[i+1])
		if !yamlnode.IsNull(value) && value.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("data.%s of the functionConfig is not a string", key)
		}
		texts[key] = yamlnode.Text(value)
	}
	return texts, nil
}

// WithoutTypes removes Go types from the error of decoding a functionConfig, because they mean nothing to users.
func WithoutTypes(err error) error {
	if err == nil {
		return nil
	}
	text := goObject.ReplaceAllString(err.Error(), "unable to read the FunctionConfig: ")
	text = goField.ReplaceAllString(text, "${2} cannot be a ${1}")
	text = goType.ReplaceAllString(text, "")
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// Patterns of Go types in errors of the YAML and JSON libraries.
var (
	goObject = regexp.MustCompile(`unable to convert object to .*? with error: `)
	goField  = regexp.MustCompile(`(?:json: )?cannot unmarshal (\w+) into Go struct field \w*\.(\S+) of type \S+`)
	goType   = regexp.MustCompile(` into (?:Go value of type \S+|[\w*[\]]*[.[*]\S+)`)
)

// Keys returns the keys of a ConfigMap's data in the order of the document.
func Keys(config *fn.KubeObject) []string {
	var keys []string
	data := yamlnode.Field(function.NodeOf(config), "data")
	for i := 0; data != nil && i+1 < len(data.Content); i += 2 {
		keys = append(keys, data.Content[i].Value)
	}
	return keys
}
