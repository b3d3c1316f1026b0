// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	"github.com/krmfn/krmfn/internal/cluster/client"
	"github.com/krmfn/krmfn/internal/cluster/connect"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
)

// requestTimeout limits the requests that the janitor sends after it was told to end.
const requestTimeout = 10 * time.Second

// Clients makes clients for the objects of a namespace.
type Clients struct {
	Pods        func(namespace string) listed[*corev1.PodList]
	Services    func(namespace string) listed[*corev1.ServiceList]
	Secrets     func(namespace string) deletable
	Events      func(namespace string) eventClient
	Deployments func(namespace string) deploymentClient
}

type (
	deletable interface {
		Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	}
	listed[L any] interface {
		deletable
		List(ctx context.Context, options metav1.ListOptions) (L, error)
	}
	deploymentClient interface {
		Patch(ctx context.Context, name string, t types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string) (*appsv1.Deployment, error)
		Get(ctx context.Context, name string, options metav1.GetOptions) (*appsv1.Deployment, error)
	}
	eventClient interface {
		Create(ctx context.Context, event *eventsv1.Event, options metav1.CreateOptions) (*eventsv1.Event, error)
	}
)

// newClients returns clients for the objects of a cluster.
func newClients(c *client.Cluster) Clients {
	core := corev1.SchemeGroupVersion
	return Clients{
		Pods: func(namespace string) listed[*corev1.PodList] {
			return client.Of(c, core, "pods", namespace, &corev1.Pod{}, &corev1.PodList{})
		},
		Services: func(namespace string) listed[*corev1.ServiceList] {
			return client.Of(c, core, "services", namespace, &corev1.Service{}, &corev1.ServiceList{})
		},
		Secrets: func(namespace string) deletable {
			return client.Of(c, core, "secrets", namespace, &corev1.Secret{}, &corev1.SecretList{})
		},
		Events: func(namespace string) eventClient {
			return client.Of(c, eventsv1.SchemeGroupVersion, "events", namespace, &eventsv1.Event{}, &eventsv1.EventList{})
		},
		Deployments: func(namespace string) deploymentClient {
			return client.Of(c, appsv1.SchemeGroupVersion, "deployments", namespace, &appsv1.Deployment{}, &appsv1.DeploymentList{})
		},
	}
}

// Connect sets the clients for the cluster that --kubeconfig names; see connect.Config.
func (c *Config) Connect() error {
	config, err := connect.Config(c.Options.Kubeconfig, "pod-janitor")
	if err != nil {
		return fmt.Errorf("find the cluster (give --kubeconfig): %w", err)
	}
	// Deletions have a limit of their own, and there are few other requests.
	config.QPS = -1
	cluster, err := client.New(config)
	if err == nil {
		c.Client = newClients(cluster)
		c.Metadata, err = metadata.NewForConfig(config)
	}
	if err != nil {
		return fmt.Errorf("make a client of the cluster: %w", err)
	}
	return nil
}

// pageSize is the maximum number of objects in one response to a list request.
const pageSize = 500

// list returns all that a sweep decides on, or an error: there is no list with holes, by which the Service of a pod that is not
// in it would look forgotten.
func (j *Janitor) list(ctx context.Context) (sweep.Objects, error) {
	var objects sweep.Objects
	var err error
	namespace, services, pods := j.Options.Namespace, j.Client.Services(j.Options.Namespace), j.Client.Pods(j.Options.Namespace)
	// The order matters: whatever these are of must be among the pods, which are listed last.
	if name := j.Options.SecretName; name != "" {
		secret, err := j.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			objects.Secret = secret
		case !apierrors.IsNotFound(err):
			return sweep.Objects{}, fmt.Errorf("get Secret %s/%s (--registry-auth-secret-name): %w", namespace, name, err)
		}
	}
	objects.Services, err = pages[*corev1.Service](ctx, functionpod.PoolLabel+","+functionpod.OrdinalLabel,
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return services.List(ctx, options)
		})
	if err != nil {
		return sweep.Objects{}, fmt.Errorf("list the Services of namespace %s: %w", namespace, err)
	}
	objects.Pods, err = pages[*corev1.Pod](ctx, "",
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return pods.List(ctx, options)
		})
	if err != nil {
		return sweep.Objects{}, fmt.Errorf("list the pods of namespace %s: %w", namespace, err)
	}
	return objects, nil
}

// pages returns all objects that have a label. The pages are of one resource version, the latest at the first of them. When that is
// too old before the last page, everything is asked for once more, and at once.
func pages[T runtime.Object](ctx context.Context, selector string, page pager.ListPageFunc) ([]T, error) {
	p := pager.New(page)
	p.PageSize = pageSize
	found, _, err := p.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	var all []T
	err = meta.EachListItem(found, func(o runtime.Object) error {
		object, ok := o.(T)
		if !ok {
			return fmt.Errorf("the list has a %T, want %T", o, object)
		}
		all = append(all, object)
		return nil
	})
	return all, err
}

// delete deletes an object if it still is as it was listed. It is not cut short when ctx is cancelled, only when its deadline has
// come: nobody would know what became of the object.
func (j *Janitor) delete(ctx context.Context, d sweep.Decision) (Action, error) {
	ctx, cancel := detached(ctx)
	defer cancel()
	var err error
	options := metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &d.UID, ResourceVersion: &d.ResourceVersion},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	}
	switch d.Kind {
	case sweep.Pod:
		err = j.Client.Pods(j.Options.Namespace).Delete(ctx, d.Name, options)
	case sweep.Service:
		err = j.Client.Services(j.Options.Namespace).Delete(ctx, d.Name, options)
	case sweep.Secret:
		err = j.Client.Secrets(j.Options.Namespace).Delete(ctx, d.Name, options)
	default:
		err = fmt.Errorf("objects of kind %q are not known", d.Kind)
	}
	switch {
	case err == nil:
		return Deleted, nil
	case apierrors.IsConflict(err):
		return Used, nil
	case apierrors.IsNotFound(err):
		return Gone, nil
	}
	return Failed, fmt.Errorf("delete %s %s/%s: %w", d.Kind, j.Options.Namespace, d.Name, err)
}

// detached returns a context that does not end when ctx is cancelled, but in time.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline := time.Now().Add(requestTimeout)
	if last, ok := ctx.Deadline(); ok && last.Before(deadline) {
		deadline = last
	}
	return context.WithDeadline(context.WithoutCancel(ctx), deadline)
}

const (
	// controller is who the events are from.
	controller = "krmfn.dev/pod-janitor"
	// maxNote is the most bytes of what an Event says.
	maxNote = 1024
)

// Self is the pod that this runs in, as far as it is known.
type Self struct {
	// Name and Namespace are empty where this runs in no pod, or in one that does not say which.
	Name, Namespace string
	// UID may be empty. Then the event is no part of what kubectl describe shows of the pod.
	UID string
}

// selfFromEnvironment returns the pod that this runs in as POD_NAME, POD_NAMESPACE and POD_UID say, by the downward API.
func selfFromEnvironment() Self {
	return Self{Name: os.Getenv("POD_NAME"), Namespace: os.Getenv("POD_NAMESPACE"), UID: os.Getenv("POD_UID")}
}

// tell makes an Event on the pod that this runs in, if that is known. The note is cut to 1024 bytes, the most that it can have.
// It is made though ctx is cancelled.
func (j *Janitor) tell(ctx context.Context, note string) error {
	self := j.Self
	if self.Name == "" || self.Namespace == "" {
		return nil
	}
	// What there is to tell has been done, whether time is over or not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-janitor-", Namespace: self.Namespace},
		EventTime:  metav1.NewMicroTime(time.Now()),
		Type:       corev1.EventTypeNormal, Reason: "FunctionPodsDeleted", Action: "Sweep",
		Note:                note[:min(len(note), maxNote)],
		ReportingController: controller, ReportingInstance: self.Name,
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: self.Name, Namespace: self.Namespace, UID: types.UID(self.UID)},
	}
	if _, err := j.Client.Events(self.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make an Event on pod %s/%s: %w", self.Namespace, self.Name, err)
	}
	return nil
}
