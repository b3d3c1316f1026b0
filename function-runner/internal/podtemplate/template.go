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

	"github.com/krmfn/krmfn/services/cluster/injection"
)

// Template is what all function pods have in common. It is not changed.
type Template struct {
	// Pod is the pod without its function, and Service its Service.
	Pod     corev1.Pod
	Service corev1.Service
	// Version tells templates apart.
	Version string

	// Injected says that the wrapper server in it is krmfn's, which the function runner put there.
	Injected bool

	// imageUser has functions run as their images' own users, where those may be known not to be root.
	imageUser bool
	// authorities are those of Trust; "" for pods without TLS.
	authorities string
}

const (
	// FunctionContainer is the name of the container that gets the function's image. Others may stand beside it.
	FunctionContainer = "function"
	// Port is where the wrapper server serves.
	Port = 9446
	// ToolsDir is where the wrapper server is in the pod.
	ToolsDir = injection.ToolsDir

	podKey     = "template"
	serviceKey = "serviceTemplate"
)

// Parse returns the template in a ConfigMap: the pod under the key template, the Service under serviceTemplate, each in YAML or JSON.
//
// A template whose container "function" has a command, which starts a wrapper server of its own as in Porch's, is used as it is. What is not known in it
// is left out of account, as Porch does: templates in use have fields at places where they mean nothing. The errors are worded as
// Porch words them. Any other template is merged into the built-in one, and need not have a Service: see merge.
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
	var err error
	if t.Version, err = hash(t.Pod, t.Service); err != nil {
		return nil, fmt.Errorf("hash the function pod template: %w", err)
	}
	return t, nil
}

// VersionFor returns the version of what the template makes for a function, whatever image of it runs and whatever the labels of that
// declare: pods of another one are replaced.
func (t *Template) VersionFor(v *Values) string {
	values := []any{t.Version, v.MaxMessageSize, v.MaxConcurrent, v.Resources, v.PullSecrets}
	// Function runners that do not know of these make the same pods where there are none.
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
		panic(err) // of values that can always be marshalled
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

// function returns the container of the function; nil when there is none.
func (t *Template) function() *corev1.Container { return FunctionOf(&t.Pod) }

// FunctionOf returns the container of the function in a pod; nil when there is none.
func FunctionOf(pod *corev1.Pod) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == FunctionContainer {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}
