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

// requestTimeout limits requests that continue after the janitor was interrupted.
const requestTimeout = 10 * time.Second

// Clients creates clients for the objects of a namespace.
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

// Connect sets the clients of the cluster that --kubeconfig selects; see connect.Config.
func (c *Config) Connect() error {
	config, err := connect.Config(c.Options.Kubeconfig, "pod-janitor")
	if err != nil {
		return fmt.Errorf("find the cluster, set --kubeconfig: %w", err)
	}
	// Deletions have their own rate limit, and other requests are few.
	config.QPS = -1
	cluster, err := client.New(config)
	if err == nil {
		c.Client = newClients(cluster)
		c.Metadata, err = metadata.NewForConfig(config)
	}
	if err != nil {
		return fmt.Errorf("create a client of the cluster: %w", err)
	}
	return nil
}

// pageSize is the maximum number of objects in one response to a list request.
const pageSize = 500

// list returns all objects that a sweep decides on. It returns an error instead of an incomplete list, in which the Service of a missing pod
// would look orphaned.
func (j *Janitor) list(ctx context.Context) (sweep.Objects, error) {
	var objects sweep.Objects
	var err error
	namespace, services, pods := j.Options.Namespace, j.Client.Services(j.Options.Namespace), j.Client.Pods(j.Options.Namespace)
	// Pods are listed last, so that the list has the pods of all Services and those that use the Secret.
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

// pages returns all objects with a label, in pages of one resource version. If that version expires before the last page, pages lists
// everything again in one request.
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

// delete deletes an object if it has not changed since it was listed. The request continues if ctx is cancelled, but not after its deadline:
// otherwise the report could not say whether the object is deleted.
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
		err = fmt.Errorf("unknown kind %q", d.Kind)
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

// detached returns a context that continues if ctx is cancelled. It ends after requestTimeout, or at the deadline of ctx.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline := time.Now().Add(requestTimeout)
	if last, ok := ctx.Deadline(); ok && last.Before(deadline) {
		deadline = last
	}
	return context.WithDeadline(context.WithoutCancel(ctx), deadline)
}

const (
	// controller is the reporting controller of events.
	controller = "krmfn.dev/pod-janitor"
	// maxNoteBytes is the maximum size of an event's note.
	maxNoteBytes = 1024
)

// Self identifies the janitor's own pod.
type Self struct {
	// Name and Namespace are empty if the pod is unknown. Then the janitor creates no events.
	Name, Namespace string
	// UID may be empty. Then kubectl describe does not show the pod's events.
	UID string
}

// selfFromEnvironment reads POD_NAME, POD_NAMESPACE and POD_UID, which the downward API sets.
func selfFromEnvironment() Self {
	return Self{Name: os.Getenv("POD_NAME"), Namespace: os.Getenv("POD_NAMESPACE"), UID: os.Getenv("POD_UID")}
}

// recordEvent creates an event on the janitor's own pod, if that is known, even if ctx has ended. It shortens the note to maxNoteBytes.
func (j *Janitor) recordEvent(ctx context.Context, note string) error {
	self := j.Self
	if self.Name == "" || self.Namespace == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-janitor-", Namespace: self.Namespace},
		EventTime:  metav1.NewMicroTime(time.Now()),
		Type:       corev1.EventTypeNormal, Reason: "FunctionPodsDeleted", Action: "Sweep",
		Note:                note[:min(len(note), maxNoteBytes)],
		ReportingController: controller, ReportingInstance: self.Name,
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: self.Name, Namespace: self.Namespace, UID: types.UID(self.UID)},
	}
	if _, err := j.Client.Events(self.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create an event on pod %s/%s: %w", self.Namespace, self.Name, err)
	}
	return nil
}
