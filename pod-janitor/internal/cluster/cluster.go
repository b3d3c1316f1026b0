// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster lists and deletes the objects of the function pods' namespace.
//
// It needs to list and delete pods and services there, to get and delete the one pull secret, and to create events in the
// namespace of the pod that it runs in.
package cluster

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
	"github.com/krmfn/krmfn/services/cluster/connect"
)

// requestTimeout is how long the API server may take for what is carried out though the janitor was told to end.
const requestTimeout = 10 * time.Second

// Config is what a Cluster needs. All of it must be set, unless it says otherwise.
type Config struct {
	Client kubernetes.Interface
	// Metadata gets the pull secret without its content, which is nobody's business here.
	Metadata metadata.Interface
	// Namespace is that of the function pods.
	Namespace string
	// SecretName is the name of the pull secret; empty means that none is looked for.
	SecretName string
	// QPS is how many deletions are made in a second.
	QPS float64
	// Self is the pod that this runs in.
	Self Self
}

// Connect returns the Cluster of c in the cluster that a kubeconfig file names; see connect.Config. It sets the clients of c.
func Connect(c Config, kubeconfig string) (*Cluster, error) {
	config, err := connect.Config(kubeconfig, "pod-janitor")
	if err != nil {
		return nil, fmt.Errorf("find the cluster (give --kubeconfig): %w", err)
	}
	// Deletions have a limit of their own, and there are few other requests.
	config.QPS = -1
	if c.Client, err = kubernetes.NewForConfig(config); err == nil {
		c.Metadata, err = metadata.NewForConfig(config)
	}
	if err != nil {
		return nil, fmt.Errorf("make a client of the cluster: %w", err)
	}
	return New(c), nil
}

// Cluster is the namespace of the function pods. It is for one goroutine at a time.
type Cluster struct {
	config  Config
	limiter *rate.Limiter
}

// New returns a Cluster.
func New(c Config) *Cluster {
	return &Cluster{config: c, limiter: rate.NewLimiter(rate.Limit(c.QPS), 1)}
}

// Outcome is what became of an object that was to be deleted.
type Outcome int

// The outcomes of deleting an object. None of them is a failure.
const (
	// Deleted objects go.
	Deleted Outcome = iota
	// Changed objects are other ones than those that were listed, or were used meanwhile. They are left.
	Changed
	// Gone objects were deleted by somebody else.
	Gone
)

// Wait returns when the next deletion may be made. It fails if ctx ends first, or would.
func (c *Cluster) Wait(ctx context.Context) error { return c.limiter.Wait(ctx) }

// Delete deletes an object if it still is as it was listed. It is not cut short when ctx is cancelled, only when its deadline has
// come: nobody would know what became of the object.
func (c *Cluster) Delete(ctx context.Context, d sweep.Decision) (Outcome, error) {
	ctx, cancel := detached(ctx)
	defer cancel()
	var err error
	options := metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &d.UID, ResourceVersion: &d.ResourceVersion},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	}
	core := c.config.Client.CoreV1()
	switch d.Kind {
	case sweep.Pod:
		err = core.Pods(c.config.Namespace).Delete(ctx, d.Name, options)
	case sweep.Service:
		err = core.Services(c.config.Namespace).Delete(ctx, d.Name, options)
	case sweep.Secret:
		err = core.Secrets(c.config.Namespace).Delete(ctx, d.Name, options)
	default:
		err = fmt.Errorf("objects of kind %q are not known", d.Kind)
	}
	switch {
	case err == nil:
		return Deleted, nil
	case apierrors.IsConflict(err):
		return Changed, nil
	case apierrors.IsNotFound(err):
		return Gone, nil
	}
	return 0, fmt.Errorf("delete %s %s/%s: %w", d.Kind, c.config.Namespace, d.Name, err)
}

// detached returns a context that does not end when ctx is cancelled, but in time.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline := time.Now().Add(requestTimeout)
	if last, ok := ctx.Deadline(); ok && last.Before(deadline) {
		deadline = last
	}
	return context.WithDeadline(context.WithoutCancel(ctx), deadline)
}
