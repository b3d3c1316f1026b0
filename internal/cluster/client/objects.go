// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// Object is a Kubernetes object, such as *corev1.Pod.
type Object interface {
	runtime.Object
	metav1.Object
}

// Objects is a client for the objects of one kind in a namespace, with the methods of client-go's typed clients. Safe for
// concurrent use.
type Objects[T Object, L runtime.Object] struct {
	rest                rest.Interface
	params              runtime.ParameterCodec
	resource, namespace string
	object              T
	list                L
}

// Of returns a client for the objects of a resource, such as "pods", in a namespace, which is "" for cluster-scoped resources.
// object and list are empty.
func Of[T Object, L runtime.Object](c *Cluster, version schema.GroupVersion, resource, namespace string, object T, list L) *Objects[T, L] {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(version, object, list)
	client, err := c.rest(rest.CopyConfig(c.config), version, scheme)
	if err != nil {
		panic(fmt.Sprintf("make a client for %s: %v", resource, err)) // cannot fail: New has used this configuration
	}
	return &Objects[T, L]{
		rest: client, params: runtime.NewParameterCodec(scheme), resource: resource, namespace: namespace, object: object, list: list,
	}
}

// request adds the parts that all requests have in common.
func (o *Objects[T, L]) request(r *rest.Request, options runtime.Object) *rest.Request {
	return r.NamespaceIfScoped(o.namespace, o.namespace != "").Resource(o.resource).VersionedParams(options, o.params)
}

// send sends a request and returns the object in the response.
func (o *Objects[T, L]) send(ctx context.Context, r *rest.Request) (T, error) {
	result, _ := o.object.DeepCopyObject().(T)
	err := r.Do(ctx).Into(result)
	return result, err
}

// Get returns an object.
func (o *Objects[T, L]) Get(ctx context.Context, name string, options metav1.GetOptions) (T, error) {
	return o.send(ctx, o.request(o.rest.Get(), &options).Name(name))
}

// List returns the objects that match the options.
func (o *Objects[T, L]) List(ctx context.Context, options metav1.ListOptions) (L, error) {
	result, _ := o.list.DeepCopyObject().(L)
	err := o.request(o.rest.Get(), &options).Timeout(timeout(&options)).Do(ctx).Into(result)
	return result, err
}

// Watch watches the objects that match the options.
func (o *Objects[T, L]) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return o.request(o.rest.Get(), &options).Timeout(timeout(&options)).Watch(ctx)
}

func timeout(options *metav1.ListOptions) time.Duration {
	if options.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*options.TimeoutSeconds) * time.Second
}

// Create creates an object and returns the API server's version of it. The caller must not share object with other goroutines
// during the call, because encoding it temporarily sets its kind.
func (o *Objects[T, L]) Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error) {
	return o.send(ctx, o.request(o.rest.Post(), &options).Body(object))
}

// Update replaces an object and returns the API server's version of it. object must not be shared, as for Create.
func (o *Objects[T, L]) Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error) {
	return o.send(ctx, o.request(o.rest.Put(), &options).Name(object.GetName()).Body(object))
}

// Patch patches an object and returns the API server's version of it. For a subresource, whose response may have another kind,
// it returns the zero object.
func (o *Objects[T, L]) Patch(ctx context.Context, name string, t types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string) (T, error) {
	r := o.request(o.rest.Patch(t), &options).Name(name).SubResource(subresources...).Body(patch)
	if len(subresources) > 0 {
		return o.object, r.Do(ctx).Error()
	}
	return o.send(ctx, r)
}

// Delete deletes an object.
func (o *Objects[T, L]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return o.rest.Delete().NamespaceIfScoped(o.namespace, o.namespace != "").Resource(o.resource).Name(name).Body(&options).Do(ctx).Error()
}
