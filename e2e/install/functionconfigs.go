// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	_ "embed"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
)

// functionConfigDefinition is Porch's CustomResourceDefinition of FunctionConfig.
//
//go:embed testdata/functionconfig-crd.yaml
var functionConfigDefinition []byte

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// FunctionConfigs returns a client for FunctionConfig objects in the function namespace. It works after DefineFunctionConfigs.
func (i *Installation) FunctionConfigs() dynamic.ResourceInterface {
	return i.dynamic.Resource(functionconfig.Resource).Namespace(i.Release.FunctionNamespace)
}

// DefineFunctionConfigs creates the CustomResourceDefinition of FunctionConfig, as an installation of Porch does, and waits until the API
// server serves it.
func (i *Installation) DefineFunctionConfigs(ctx context.Context) error {
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(functionConfigDefinition, &definition.Object); err != nil {
		return fmt.Errorf("read the definition of FunctionConfig: %w", err)
	}
	_, err := i.dynamic.Resource(definitions).Apply(ctx, definition.GetName(), definition, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
	if err != nil {
		return fmt.Errorf("define FunctionConfig: %w", err)
	}
	return i.awaitFunctionConfigs(ctx, func(err error) bool { return err == nil })
}

// UndefineFunctionConfigs deletes the CustomResourceDefinition and all FunctionConfig objects, and waits until the API server no longer
// serves it.
func (i *Installation) UndefineFunctionConfigs(ctx context.Context) error {
	name := functionconfig.Resource.Resource + "." + functionconfig.Resource.Group
	if err := i.dynamic.Resource(definitions).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the definition of FunctionConfig: %w", err)
	}
	return i.awaitFunctionConfigs(ctx, apierrors.IsNotFound)
}

func (i *Installation) awaitFunctionConfigs(ctx context.Context, wanted func(error) bool) error {
	return await(ctx, "the API server serves FunctionConfig, or no longer serves it", func(ctx context.Context) (bool, error) {
		_, err := i.FunctionConfigs().List(ctx, metav1.ListOptions{})
		return wanted(err), nil
	})
}
