// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
)

// listTimeout is the timeout for listing the objects.
const listTimeout = 30 * time.Second

// functionConfigs adds the functions that run in pods according to the FunctionConfig objects of the namespace.
func (f *finder) functionConfigs(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := f.Cluster.Resource(functionconfig.Resource).Namespace(f.Namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		f.note("the cluster has no FunctionConfig objects (%s): Porch is not installed, or has another version", functionconfig.Resource.GroupVersion())
		return
	case err != nil:
		f.unread("FunctionConfig objects", fmt.Errorf("list FunctionConfig objects in namespace %s: %w", f.Namespace, err))
		return
	}
	for i := range list.Items {
		f.functionConfig(&list.Items[i])
	}
}

func (f *finder) functionConfig(u *unstructured.Unstructured) {
	name := "FunctionConfig " + u.GetName()
	object, problems := functionconfig.Decode(u)
	for _, problem := range problems {
		switch problem.Field {
		case "spec", "spec.prefixes", "spec.podExecutor", "spec.podExecutor.tags":
			f.unread(name, errors.New(problem.String()))
		}
	}
	if object.Pod == nil {
		return
	}
	if object.Image == "" || len(object.Pod.Tags) == 0 {
		f.note("%s has no image with a tag: none of its images are warmed", name)
		return
	}
	repositories, invalid := object.Repositories(f.Prefix)
	for _, err := range invalid {
		f.fail(name, err)
	}
	for _, repository := range repositories {
		for _, tag := range object.Pod.Tags {
			ref, err := functionconfig.Tagged(repository, tag)
			f.resolved(repository+":"+tag, ref, err)
		}
	}
}
