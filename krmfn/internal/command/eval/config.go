// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlprint"
)

type functionConfig struct {
	node *yaml.RNode
	// file is where it comes from; empty when it comes from arguments.
	file string
	// given reports whether the user supplied the functionConfig. Otherwise it is the default.
	given bool
}

// readConfig reads the functionConfig from a file, or makes it from arguments, where there is no file.
func readConfig(file string, values []string) (*functionConfig, error) {
	if file == "" {
		node, err := configFromValues(values)
		return &functionConfig{node: node, given: len(values) > 0}, err
	}
	content, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("missing function config file: %s", file)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to read functionConfig %q: %w", file, err)
	}
	nodes, err := (&kio.ByteReader{Reader: strings.NewReader(string(content)), OmitReaderAnnotations: true, DisableUnwrapping: true}).Read()
	if err != nil {
		return nil, fmt.Errorf("failed to read functionConfig %q: %w", file, err)
	}
	switch {
	case len(nodes) == 0:
		return nil, fmt.Errorf("functionConfig %q must contain one config, got none", file)
	case len(nodes) > 1:
		return nil, fmt.Errorf("functionConfig %q must not contain more than one config, got %d", file, len(nodes))
	}
	if err := errors.Join(resource.CheckKRM(nodes[0]), checkShape(nodes)); err != nil {
		return nil, fmt.Errorf("functionConfig %q: %w", file, err)
	}
	return &functionConfig{node: nodes[0], file: file, given: true}, nil
}

// configFromValues makes a ConfigMap, or a resource of another kind that is written in front of the values.
func configFromValues(values []string) (*yaml.RNode, error) {
	kind := "ConfigMap"
	if len(values) > 0 && !strings.Contains(values[0], "=") {
		kind, values = values[0], values[1:]
	}
	config := struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   yaml.NameMeta     `json:"metadata"`
		Data       map[string]string `json:"data"`
	}{APIVersion: "v1", Kind: kind, Metadata: yaml.NameMeta{Name: "function-input"}, Data: map[string]string{}}
	for _, kv := range values {
		key, value, ok := strings.Cut(kv, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("args must have keys and values separated by =, got %q", kv)
		}
		config.Data[key] = value
	}
	node, err := yamlprint.Value(config)
	if err != nil {
		return nil, fmt.Errorf("make a functionConfig of the arguments: %w", err)
	}
	return yaml.NewRNode(node), nil
}

func (c *functionConfig) inside(dir string) (string, bool) {
	if c.file == "" {
		return "", false
	}
	abs, err := filepath.Abs(c.file)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(dir, abs)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}
