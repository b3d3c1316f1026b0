// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podtemplate builds function pods and their Services. The template comes from a ConfigMap in the format of Porch's function
// runner, or from the built-in default, which satisfies the Pod Security Standard "restricted".
package podtemplate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/internal/cluster/injection"
)

// Template is the common part of all function pods. It is immutable.
type Template struct {
	// Pod is the pod without the function, and Service is its Service.
	Pod     corev1.Pod
	Service corev1.Service
	// Version is a hash of the template.
	Version string

	// Injected reports that the function runner has injected krmfn's wrapper server.
	Injected bool

	// imageUser makes functions run as their images' users if these are known not to be root.
	imageUser bool
	// authorities are the fingerprints that Secured got, separated by commas, or empty for pods without TLS.
	authorities string
}

const (
	// FunctionContainer is the name of the function's container. A pod may have other containers.
	FunctionContainer = "function"
	// Port is the port of the wrapper server.
	Port = 9446
	// ToolsDir is the directory of the wrapper server in the pod.
	ToolsDir = injection.ToolsDir

	podKey     = "template"
	serviceKey = "serviceTemplate"
)

// Parse returns the template in a ConfigMap: the pod under the key template, the Service under serviceTemplate, each in YAML or JSON.
//
// If the container "function" has a command, the template contains its own wrapper server, as in Porch, and Parse does not merge it. Like
// Porch, it ignores unknown fields, because existing templates have fields at wrong places. The errors have Porch's wording. Any other
// template is merged into the built-in one and need not have a Service; see merge.
func Parse(cm *corev1.ConfigMap, builtIn *Template) (*Template, error) {
	t := &Template{}
	if err := decode(cm, podKey, "pod", &t.Pod); err != nil {
		return nil, err
	}
	function := t.function()
	if function == nil {
		return nil, fmt.Errorf("function pod template in ConfigMap %s has no container with the name %q", cm.Name, FunctionContainer)
	}
	own := len(function.Command) > 0
	if _, ok := cm.Data[serviceKey]; own || ok {
		if err := decode(cm, serviceKey, "service", &t.Service); err != nil {
			return nil, err
		}
	} else {
		t.Service = builtIn.Service
	}
	if !own {
		if err := t.merge(cm, builtIn); err != nil {
			return nil, fmt.Errorf("function pod template: key %s of ConfigMap %s: %w", podKey, cm.Name, err)
		}
	}
	// The pool assigns the names. A fixed name would conflict with the second pod.
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

// versioned sets the version to a hash of the pod and the Service, so that changes of the ConfigMap's metadata replace no pods.
func (t *Template) versioned() (*Template, error) {
	var err error
	if t.Version, err = hash(t.Pod, t.Service); err != nil {
		return nil, fmt.Errorf("hash the function pod template: %w", err)
	}
	return t, nil
}

// VersionFor returns the version of the pods that the template builds for a function. Pods of another version are superseded. The version
// does not depend on the image and on its labels.
func (t *Template) VersionFor(v *Values) string {
	values := []any{t.Version, v.MaxMessageSize, v.MaxConcurrent, v.Resources, v.PullSecrets}
	// Unset values must not change the version, because function runners of earlier releases do not include them.
	if v.Overrides != nil {
		values = append(values, v.Overrides)
	}
	if v.StandbyProcesses != nil || v.Declared != nil {
		values = append(values, v.StandbyProcesses, v.Declared)
	}
	if len(v.Patches) > 0 {
		values = append(values, v.Patches)
	}
	if v.ByReference {
		values = append(values, "by reference")
	}
	version, err := hash(values...)
	if err != nil {
		panic(err) // these values can always be marshalled
	}
	return version
}

func hash(values ...any) (string, error) {
	content, err := json.Marshal(values)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])[:16], nil
}

// function returns the function's container, or nil if there is none.
func (t *Template) function() *corev1.Container { return FunctionOf(&t.Pod) }

// FunctionOf returns the function's container of a pod, or nil if there is none.
func FunctionOf(pod *corev1.Pod) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == FunctionContainer {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}
