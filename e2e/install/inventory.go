// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// automatic lists objects that Kubernetes creates in every namespace.
var automatic = []string{
	"configmaps/kube-root-ca.crt", "serviceaccounts/default",
}

// transientResources lists resources that record the past or that Kubernetes deletes by itself.
var transientResources = []string{"events", "endpoints", "endpointslices", "leases", "replicasets", "controllerrevisions"}

// Inventory lists the objects in the release's namespaces as NAMESPACE/RESOURCE/NAME, and cluster-scoped objects whose name contains krmfn.
// It omits objects of releases in other namespaces.
func (i *Installation) Inventory(ctx context.Context) ([]string, error) {
	lists, err := discovery.ServerPreferredResources(i.Client.Discovery())
	if err != nil {
		return nil, fmt.Errorf("discover API resources: %w", err)
	}
	var all []string
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || !slices.Contains(resource.Verbs, "delete") || slices.Contains(transientResources, resource.Name) {
				continue
			}
			found, err := i.list(ctx, group.WithResource(resource.Name), resource.Namespaced)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

func (i *Installation) list(ctx context.Context, resource schema.GroupVersionResource, namespaced bool) ([]string, error) {
	objects, err := i.dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	var found []string
	for _, object := range objects.Items {
		if i.ours(&object, resource.Resource, namespaced) {
			found = append(found, object.GetNamespace()+"/"+resource.Resource+"/"+object.GetName())
		}
	}
	return found, nil
}

func (i *Installation) ours(object *unstructured.Unstructured, resource string, namespaced bool) bool {
	if !namespaced {
		return object.GetName() == i.Release.FunctionNamespace || strings.Contains(object.GetName(), "krmfn") && !i.foreign(object)
	}
	inside := object.GetNamespace() == i.Release.Namespace || object.GetNamespace() == i.Release.FunctionNamespace
	// The tests create the NodePort Services.
	return inside && !slices.Contains(automatic, resource+"/"+object.GetName()) && object.GetLabels()[nodePortLabel] == ""
}

// foreign reports whether an object belongs to a release in another namespace or to the tests.
func (i *Installation) foreign(object *unstructured.Unstructured) bool {
	owner := object.GetAnnotations()["meta.helm.sh/release-namespace"]
	return owner != "" && owner != i.Release.Namespace || strings.HasPrefix(object.GetName(), "krmfn-e2e")
}

// MakeFunctionNamespace creates the function namespace without Helm, as a user could.
func (i *Installation) MakeFunctionNamespace(ctx context.Context) error {
	_, err := i.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.Release.FunctionNamespace}}, metav1.CreateOptions{})
	return err
}

// DeleteFunctionNamespace deletes the function namespace and waits until it is gone.
func (i *Installation) DeleteFunctionNamespace(ctx context.Context) error {
	return i.deleteNamespace(ctx, i.Release.FunctionNamespace)
}

// DeleteNamespace deletes the release's namespace, which Helm keeps, and waits until it is gone.
func (i *Installation) DeleteNamespace(ctx context.Context) error {
	return i.deleteNamespace(ctx, i.Release.Namespace)
}

func (i *Installation) deleteNamespace(ctx context.Context, name string) error {
	namespaces := i.Client.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return await(ctx, "namespace "+name+" is gone", func(ctx context.Context) (bool, error) {
		_, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}
