// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functionconfig decodes Porch's FunctionConfig objects.
package functionconfig

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/krmfn/krmfn/internal/traits"
)

// Resource is the resource of FunctionConfig objects.
var Resource = schema.GroupVersionResource{Group: "config.porch.kpt.dev", Version: "v1alpha1", Resource: "functionconfigs"}

// Object is the part of a FunctionConfig object that concerns function runners and their images.
type Object struct {
	// Image is the name of the function's image, without registry and tag. Prefixes are the repositories that contain the image. An empty
	// prefix, or no prefix, means the default prefix.
	Image    string
	Prefixes []string
	// Declared holds the annotations that declare traits. Nil means none.
	Declared map[string]string
	// Pod and Binary are nil if the object does not have them.
	Pod    *PodExecutor
	Binary *BinaryExecutor
}

// PodExecutor has the tags of a function that runs in pods, and the settings of the pods.
type PodExecutor struct {
	Tags []string
	Settings
}

// Settings are the settings of a function's pods. Zero values mean the function runner's defaults.
type Settings struct {
	// TTL is the time after which an idle pod is deleted.
	TTL time.Duration
	// MaxPods is the maximum number of pods. Waitlist is the number of calls that each pod must have before another pod is created.
	MaxPods, Waitlist int
	// Overrides replace fields of the pod template. Nil means none.
	Overrides *Overrides
	// Declared holds the annotations that declare traits instead of the image's labels. Nil means none.
	Declared map[string]string
}

// BinaryExecutor has the tags of a function that runs as an executable, and the name of the executable.
type BinaryExecutor struct {
	Tags []string
	Path string
}

// Problem is an invalid value in an object. It does not quote the value, because values of environment variables may be secret.
type Problem struct {
	// Field is the path of the field, such as spec.podExecutor.tags.
	Field, Text string
}

func (p Problem) String() string { return p.Field + " " + p.Text }

// Decode reads the spec and the trait annotations of an object. It skips invalid values and reports them as problems. It ignores unknown
// fields, which may belong to a later version or to other components.
func Decode(u *unstructured.Unstructured) (o Object, problems []Problem) {
	root := section{path: "spec", problems: &problems}
	var ok bool
	if root.fields, ok = u.Object["spec"].(map[string]any); !ok {
		return o, []Problem{{Field: "spec", Text: "is no object"}}
	}
	o.Image, o.Prefixes = root.text("image"), root.texts("prefixes")
	if o.Image == "" {
		root.problem("image", "is missing: name the function, such as set-labels")
	}
	o.Declared = traits.Only(u.GetAnnotations())
	if _, err := traits.Parse(traits.Traits{}, o.Declared); err != nil {
		problems = append(problems, Problem{Field: "metadata.annotations", Text: "are invalid: " + err.Error()})
	}
	if binary, ok := root.section("binaryExecutor"); ok {
		o.Binary = &BinaryExecutor{Tags: binary.texts("tags"), Path: binary.text("path")}
	}
	if pod, ok := root.section("podExecutor"); ok {
		o.Pod = &PodExecutor{Tags: pod.texts("tags"), Settings: Settings{
			TTL: pod.duration("timeToLive"), MaxPods: pod.number("maxParallelExecutions"), Waitlist: pod.number("preferredMaxQueueLength"),
			Overrides: pod.overrides("templateOverrides"), Declared: o.Declared,
		}}
	}
	return o, problems
}
