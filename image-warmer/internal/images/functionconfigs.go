// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// functionConfigResource is where Porch keeps what it knows of functions.
var functionConfigResource = schema.GroupVersionResource{Group: "config.porch.kpt.dev", Version: "v1alpha1", Resource: "functionconfigs"}

// listTimeout is the most time for the objects.
const listTimeout = 30 * time.Second

type functionConfig struct {
	Spec struct {
		Image string `json:"image"`
		// Prefixes are the repositories that the image is in; "" is the default prefix.
		Prefixes    []string `json:"prefixes"`
		PodExecutor *struct {
			Tags []string `json:"tags"`
		} `json:"podExecutor"`
	} `json:"spec"`
}

// functionConfigs takes the functions of the namespace's objects that run in pods.
func (f *finder) functionConfigs(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := f.Cluster.Resource(functionConfigResource).Namespace(f.Namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		f.note("the cluster has no FunctionConfig objects (%s): Porch is not there, or of another version", functionConfigResource.GroupVersion())
		return
	case err != nil:
		f.unread("FunctionConfig objects", fmt.Errorf("list FunctionConfig objects in namespace %s: %w", f.Namespace, err))
		return
	}
	for i := range list.Items {
		name := "FunctionConfig " + list.Items[i].GetName()
		var object functionConfig
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &object); err != nil {
			f.unread(name, fmt.Errorf("%s is not understood: %w", name, err))
			continue
		}
		f.functionConfig(name, &object)
	}
}

func (f *finder) functionConfig(name string, object *functionConfig) {
	spec := &object.Spec
	if spec.PodExecutor == nil {
		return
	}
	if spec.Image == "" || len(spec.PodExecutor.Tags) == 0 {
		f.note("%s names no image with a tag: nothing of it is warmed", name)
		return
	}
	prefixes := spec.Prefixes
	if len(prefixes) == 0 {
		prefixes = []string{""}
	}
	for _, prefix := range prefixes {
		repository := spec.Image
		if prefix = strings.TrimRight(cmp.Or(prefix, f.Prefix), "/"); prefix != "" {
			repository = prefix + "/" + repository
		}
		for _, tag := range spec.PodExecutor.Tags {
			f.add(repository + ":" + tag)
		}
	}
}
