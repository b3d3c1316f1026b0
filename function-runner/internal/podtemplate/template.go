// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podtemplate says what function pods and their Services look like: as a ConfigMap has it that was written for
// Porch's function runner, or as the default has it, which satisfies Kubernetes' Pod Security Standard "restricted".
package podtemplate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Template is what all function pods have in common. It is not changed.
type Template struct {
	// Pod is the pod without its function, and Service its Service.
	Pod     corev1.Pod
	Service corev1.Service
	// Version tells templates apart: pods of another one are replaced.
	Version string

	// imageUser has functions run as their images' own users, where those may be known not to be root.
	imageUser bool
}

const (
	// FunctionContainer is the name of the container that gets the function's image. Others may stand beside it.
	FunctionContainer = "function"
	// Port is where the wrapper server serves.
	Port = 9446
	// ToolsDir is where the wrapper server is in the pod.
	ToolsDir = "/wrapper-server-tools"

	podKey     = "template"
	serviceKey = "serviceTemplate"
)

// Parse returns the template in a ConfigMap: the pod under the key template, the Service under serviceTemplate, each in
// YAML or JSON. What is not known in them is left out of account, as Porch does: templates in use have fields at places
// where they mean nothing. The errors are worded as Porch words them.
func Parse(cm *corev1.ConfigMap) (*Template, error) {
	t := &Template{}
	if err := decode(cm, podKey, "pod", &t.Pod); err != nil {
		return nil, err
	}
	if err := decode(cm, serviceKey, "service", &t.Service); err != nil {
		return nil, err
	}
	if t.function() == nil {
		return nil, fmt.Errorf("function pod template in ConfigMap %s has no container with the name %q", cm.Name, FunctionContainer)
	}
	// Names are the pool's to give: a fixed one would be taken by the first pod.
	t.Pod.Name, t.Pod.GenerateName = "", ""
	return t.versioned()
}

func decode(cm *corev1.ConfigMap, key, what string, into any) error {
	text, ok := cm.Data[key]
	if !ok {
		return fmt.Errorf("function %s template with key %s does not exist in ConfigMap %s", what, key, cm.Name)
	}
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("unable to decode function %s template: key %s of ConfigMap %s: %w", what, key, cm.Name, err)
	}
	return nil
}

// versioned sets the version to a hash of what the template says, so that an edit of the ConfigMap's metadata replaces no pod.
func (t *Template) versioned() (*Template, error) {
	content, err := json.Marshal([]any{t.Pod, t.Service})
	if err != nil {
		return nil, fmt.Errorf("hash the function pod template: %w", err)
	}
	sum := sha256.Sum256(content)
	t.Version = hex.EncodeToString(sum[:])[:16]
	return t, nil
}

// function returns the container of the function; nil when there is none.
func (t *Template) function() *corev1.Container { return functionOf(&t.Pod) }

func functionOf(pod *corev1.Pod) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == FunctionContainer {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}
