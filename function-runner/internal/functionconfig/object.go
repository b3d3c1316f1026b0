// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functionconfig follows Porch's FunctionConfig objects: which functions have executables, what the pods of functions
// are like, and which functions are to have pods before the first call. It reports on the objects in their status.
package functionconfig

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
)

// Resource is what the objects are to the API server.
var Resource = schema.GroupVersionResource{Group: "config.porch.kpt.dev", Version: "v1alpha1", Resource: "functionconfigs"}

// Settings are those of a function's pods. What is zero is left to others.
type Settings struct {
	// TTL is how long an idle pod is kept.
	TTL time.Duration
	// MaxPods is the most pods, and Waitlist how many calls a pod may have before another is made.
	MaxPods, Waitlist int
	// Overrides take the place of what the pod template says; nil for none.
	Overrides *podtemplate.Overrides
}

// spec is what an object says to function runners.
type spec struct {
	image    string
	prefixes []string
	// pod and binary are nil where the object does not have them.
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

// decode reads the spec of an object. What makes no sense is left out and a problem. Problems quote no values: those of
// environment variables may be secret. What is not known is of no account: it may be of a later version, or for others.
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
	if binary, ok := root.section("binaryExecutor"); ok {
		s.binary = &binaryExecutor{tags: binary.texts("tags"), path: binary.text("path")}
	}
	if pod, ok := root.section("podExecutor"); ok {
		s.pod = &podExecutor{tags: pod.texts("tags"), settings: Settings{
			TTL: pod.duration("timeToLive"), MaxPods: pod.number("maxParallelExecutions"), Waitlist: pod.number("preferredMaxQueueLength"),
			Overrides: pod.overrides("templateOverrides"),
		}}
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
