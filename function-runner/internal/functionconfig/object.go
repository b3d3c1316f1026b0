// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functionconfig follows Porch's FunctionConfig objects, which configure the functions with executables, the settings of function
// pods, and the functions that get pods before their first call. It reports problems and effects in the status of the objects.
package functionconfig

import (
	"encoding/json"
	"math"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/traits"
)

// Resource is the resource of FunctionConfig objects.
var Resource = schema.GroupVersionResource{Group: "config.porch.kpt.dev", Version: "v1alpha1", Resource: "functionconfigs"}

// Settings are the settings of a function's pods. Zero values mean the function runner's defaults.
type Settings struct {
	// TTL is the time after which an idle pod is deleted.
	TTL time.Duration
	// MaxPods is the maximum number of pods. Waitlist is the number of calls that each pod must have before another pod is created.
	MaxPods, Waitlist int
	// Overrides replace fields of the pod template. Nil means none.
	Overrides *podtemplate.Overrides
	// Declared holds the annotations that declare traits instead of the image's labels. Nil means none.
	Declared map[string]string
}

// spec is the part of an object that concerns function runners.
type spec struct {
	image    string
	prefixes []string
	// declared holds the annotations that declare traits. Nil means none.
	declared map[string]string
	// pod and binary are nil if the object does not have them.
	pod    *podExecutor
	binary *binaryExecutor
}

type podExecutor struct {
	tags     []string
	settings Settings
}

type binaryExecutor struct {
	tags []string
	path string
}

// decode reads the spec and the trait annotations of an object. It skips invalid values and reports them as problems. Problems do not
// quote values, because values of environment variables may be secret. decode ignores unknown fields, which may belong to a later version
// or to other components.
func decode(u *unstructured.Unstructured) (s spec, problems []string) {
	root := section{path: "spec", problems: &problems}
	var ok bool
	if root.fields, ok = u.Object["spec"].(map[string]any); !ok {
		return s, []string{"spec is no object"}
	}
	s.image, s.prefixes = root.text("image"), root.texts("prefixes")
	if s.image == "" {
		root.problem("image", "is missing: name the function, such as set-labels")
	}
	s.declared = traits.Only(u.GetAnnotations())
	if _, err := traits.Parse(traits.Traits{}, s.declared); err != nil {
		problems = append(problems, "metadata.annotations: "+err.Error())
	}
	if binary, ok := root.section("binaryExecutor"); ok {
		s.binary = &binaryExecutor{tags: binary.texts("tags"), path: binary.text("path")}
	}
	if pod, ok := root.section("podExecutor"); ok {
		s.pod = &podExecutor{tags: pod.texts("tags"), settings: Settings{
			TTL: pod.duration("timeToLive"), MaxPods: pod.number("maxParallelExecutions"), Waitlist: pod.number("preferredMaxQueueLength"),
			Overrides: pod.overrides("templateOverrides"), Declared: s.declared,
		}}
	} else if s.declared != nil {
		s.pod = &podExecutor{settings: Settings{Declared: s.declared}}
	}
	return s, problems
}

func (s section) overrides(name string) *podtemplate.Overrides {
	own, ok := s.section(name)
	if !ok {
		return nil
	}
	o := &podtemplate.Overrides{ServiceAccountName: own.text("serviceAccountName")}
	own.typed("securityContext", &o.SecurityContext)
	o.InitContainer, o.Container = own.container("initContainer"), own.container("container")
	if o.ServiceAccountName == "" && o.SecurityContext == nil && o.InitContainer.IsZero() && o.Container.IsZero() {
		return nil
	}
	return o
}

func (s section) container(name string) (o podtemplate.ContainerOverrides) {
	own, ok := s.section(name)
	if !ok {
		return o
	}
	if resources, ok := own.section("resources"); ok {
		resources.typed("requests", &o.Requests)
		resources.typed("limits", &o.Limits)
	}
	own.typed("envFrom", &o.EnvFrom)
	own.typed("env", &o.Env)
	return o
}

// section is a mapping within an object. Its methods return the values of fields. A missing, null or invalid field has the zero value. An
// invalid field is also reported as a problem.
type section struct {
	path     string
	fields   map[string]any
	problems *[]string
}

func (s section) problem(name, text string) {
	*s.problems = append(*s.problems, s.path+"."+name+" "+text)
}

// field returns a field of type T. kind names the type in the problem.
func field[T any](s section, name, kind string) T {
	value, ok := s.fields[name].(T)
	if !ok && s.fields[name] != nil {
		s.problem(name, "is no "+kind)
	}
	return value
}

func (s section) section(name string) (section, bool) {
	fields := field[map[string]any](s, name, "object")
	return section{s.path + "." + name, fields, s.problems}, fields != nil
}

func (s section) text(name string) string { return field[string](s, name, "string") }

func (s section) texts(name string) []string {
	var texts []string
	for _, item := range field[[]any](s, name, "list") {
		text, ok := item.(string)
		if !ok {
			s.problem(name, "has an item that is no string")
			continue
		}
		texts = append(texts, text)
	}
	return texts
}

// number returns a field as an int. Negative numbers count as 0, which means the default.
func (s section) number(name string) int {
	switch n := s.fields[name].(type) {
	case nil:
		return 0
	case int64:
		if n <= math.MaxInt32 {
			return int(max(n, 0))
		}
	case float64:
		if n == math.Trunc(n) && n <= math.MaxInt32 {
			return int(max(n, 0))
		}
	}
	s.problem(name, "is no number up to 2147483647")
	return 0
}

// duration returns a field as a duration. Negative durations count as 0, which means the default.
func (s section) duration(name string) time.Duration {
	text := s.text(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		s.problem(name, "is no duration such as 30m")
	}
	return max(d, 0)
}

// typed decodes a field into a pointer to a Kubernetes type.
func (s section) typed(name string, into any) {
	value := s.fields[name]
	if value == nil {
		return
	}
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		// A failed decoding may have set a part of the value.
		reflect.ValueOf(into).Elem().SetZero()
		s.problem(name, "is not what it is in a pod")
	}
}
