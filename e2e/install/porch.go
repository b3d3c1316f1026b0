// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// porchManifests are the manifests of Porch's own function runner installation.
//
//go:embed testdata/porch.yaml
var porchManifests []byte

// Porch is a function runner installed from Porch's manifests, but with krmfn's images, which accept Porch's command lines.
type Porch struct {
	objects []*unstructured.Unstructured
	i       *Installation
}

// InstallPorch applies Porch's manifests, and waits until the function runner is ready.
func (i *Installation) InstallPorch(ctx context.Context) (*Porch, error) {
	p := &Porch{i: i}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(strings.NewReplacer(
		"docker.io/nephio/porch-function-runner:latest", reference(i.Registry, "function-runner", i.tag),
		"docker.io/nephio/porch-wrapper-server:latest", i.WrapperImage(),
		FunctionNamespace, i.Release.FunctionNamespace, Namespace, i.Release.Namespace,
	).Replace(string(porchManifests)))), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return p, p.Apply(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("read Porch's manifests: %w", err)
		}
		if len(object.Object) > 0 {
			p.objects = append(p.objects, object)
		}
	}
}

// Apply applies the manifests, like kubectl apply, and waits until the function runner is ready.
func (p *Porch) Apply(ctx context.Context) error {
	for _, object := range p.objects {
		_, err := p.resource(object).Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
		if err != nil {
			return fmt.Errorf("apply Porch's %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return p.i.AwaitSettled(ctx)
}

// Replace replaces existing objects with the manifests, like kubectl replace: the ConfigMap, the Service, and then the Deployment. It
// returns like kubectl rollout status, when the new function runner is ready and old ones can still be finishing calls.
func (p *Porch) Replace(ctx context.Context) error {
	for _, kind := range []string{"ConfigMap", "Service", "Deployment"} {
		for _, object := range p.objects {
			if object.GetKind() != kind {
				continue
			}
			if _, err := p.resource(object).Update(ctx, object.DeepCopy(), metav1.UpdateOptions{FieldManager: "kubectl-replace"}); err != nil {
				return fmt.Errorf("replace %s %s by Porch's: %w", kind, object.GetName(), err)
			}
		}
	}
	return p.i.awaitRolledOut(ctx)
}

// Permissions returns the permissions of Porch's function runner.
func (p *Porch) Permissions() ([]authorizationv1.ResourceAttributes, error) {
	var all []authorizationv1.ResourceAttributes
	for _, object := range p.objects {
		if object.GetKind() != "Role" {
			continue
		}
		var role rbacv1.Role
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			return nil, fmt.Errorf("read Porch's Role %s: %w", role.Name, err)
		}
		for _, rule := range role.Rules {
			all = append(all, Permissions(role.Namespace, rule)...)
		}
	}
	return all, nil
}

// Delete deletes the objects in the manifests, and the function namespace.
func (p *Porch) Delete(ctx context.Context) error {
	for _, object := range p.objects {
		// The tests also use the namespace of the function runners.
		if object.GetKind() == "Namespace" {
			continue
		}
		if err := p.resource(object).Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return p.i.DeleteFunctionNamespace(ctx)
}

func (p *Porch) resource(object *unstructured.Unstructured) dynamic.ResourceInterface {
	group := object.GroupVersionKind()
	resource := p.i.dynamic.Resource(schema.GroupVersionResource{
		Group: group.Group, Version: group.Version, Resource: strings.ToLower(group.Kind) + "s",
	})
	if object.GetNamespace() == "" {
		return resource
	}
	return resource.Namespace(object.GetNamespace())
}
