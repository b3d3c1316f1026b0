// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/krmfn/krmfn/services/cluster/client"
	"github.com/krmfn/krmfn/services/evaluation/traits"
	"github.com/krmfn/krmfn/services/server/logging"
)

const (
	// servedTimeout and syncTimeout bound how long it takes to learn whether there are such objects, and which.
	servedTimeout, syncTimeout = 10 * time.Second, 20 * time.Second
)

var (
	// errNotServed says that the cluster has no such objects.
	errNotServed = errors.New("the cluster has no FunctionConfig objects")
	errSlow      = fmt.Errorf("the API server has not returned the FunctionConfig objects within %v", syncTimeout)
)

// follow follows the objects until ctx ends or they cannot be followed, and tells why. synced is called when they are known.
func (f *Follower) follow(ctx context.Context, synced func()) error {
	if err := f.served(ctx); err != nil {
		return err
	}
	var group sync.WaitGroup
	defer group.Wait()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	informer := client.NewInformer(f.config.Client, &unstructured.Unstructured{}, "")
	handled, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { f.Recheck() }, UpdateFunc: func(any, any) { f.Recheck() }, DeleteFunc: func(any) { f.Recheck() },
	})
	if err == nil {
		err = errors.Join(informer.SetTransform(slim), informer.SetWatchErrorHandlerWithContext(f.watchFailed(giveUp)))
	}
	if err != nil {
		return err
	}
	group.Go(func() { informer.RunWithContext(ctx) })
	if err := awaitSync(ctx, handled); err != nil {
		return err
	}
	synced()
	f.announce(ctx, len(informer.GetStore().ListKeys()))
	w := newWriter(f)
	group.Go(func() { w.run(ctx) })
	f.keep(ctx, informer.GetStore(), w)
	return context.Cause(ctx)
}

// keep puts in force what is in the store, whenever it may have changed, until ctx ends.
func (f *Follower) keep(ctx context.Context, store cache.Store, w *writer) {
	ticker := time.NewTicker(recheckInterval)
	defer ticker.Stop()
	for {
		f.apply(objects(store))
		f.done()
		w.look()
		select {
		case <-ctx.Done():
			return
		case <-f.recheck:
		case <-ticker.C:
		}
	}
}

func objects(store cache.Store) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range store.List() {
		if u, ok := object.(*unstructured.Unstructured); ok {
			all = append(all, u)
		}
	}
	return all
}

// served tells by its error whether there can be objects to follow. Where there cannot, none is in force.
func (f *Follower) served(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	served, err := f.config.Served(ctx)
	if err != nil {
		return fmt.Errorf("ask whether the cluster has FunctionConfig objects: %w", err)
	}
	if !served {
		f.apply(nil)
		return errNotServed
	}
	return nil
}

func awaitSync(ctx context.Context, handled cache.ResourceEventHandlerRegistration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, syncTimeout, errSlow)
	defer cancel()
	if !cache.WaitFor(ctx, "", handled.HasSyncedChecker()) {
		return context.Cause(ctx)
	}
	return nil
}

// watchFailed returns a handler that gives up where trying again at short intervals is in vain, and logs each new kind of other
// problem once.
func (f *Follower) watchFailed(giveUp context.CancelCauseFunc) cache.WatchErrorHandlerWithContext {
	var logged logging.Once
	return func(ctx context.Context, _ *cache.Reflector, err error) {
		switch {
		case ctx.Err() != nil, apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
			giveUp(err)
		case logged.New(err):
			f.config.Log.WarnContext(ctx, "FunctionConfig objects cannot be watched, what is known of them stays in force", "namespace", f.config.Namespace, "err", err)
		}
	}
}

// slim leaves out of an object what is not looked at here.
func slim(object any) (any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		u.SetManagedFields(nil)
		u.SetAnnotations(traits.Only(u.GetAnnotations()))
		u.SetLabels(nil)
	}
	return object, nil
}

// Served tells whether an API server has FunctionConfig objects, by a client of its discovery, which everybody may ask.
func Served(ctx context.Context, discovery rest.Interface) (bool, error) {
	resources := &metav1.APIResourceList{}
	err := discovery.Get().AbsPath("/apis", Resource.Group, Resource.Version).Do(ctx).Into(resources)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == Resource.Resource }), err
}

const (
	// notServedPause is how long it may take until objects are followed that a cluster has got.
	notServedPause = 2 * time.Minute
	// forbiddenPause is how long it may take until a permission is noticed that was granted.
	forbiddenPause = 5 * time.Minute
	// The pauses after other failures.
	firstPause, longestPause = time.Second, 2 * time.Minute
	// steady is how long objects must have been followed before the same problem is logged again.
	steady = time.Minute

	// needed are the permissions in the namespace.
	needed = "get, list, watch, patch on functionconfigs and patch on functionconfigs/status, in the API group config.porch.kpt.dev"
)

// announce logs that objects are followed, once after each problem that was logged.
func (f *Follower) announce(ctx context.Context, objects int) {
	f.since = time.Now()
	if !f.announced {
		f.announced = true
		f.config.Log.InfoContext(ctx, "FunctionConfig objects are followed", "namespace", f.config.Namespace, "objects", objects)
	}
}

// report logs why the objects are not followed, once for each reason.
func (f *Follower) report(ctx context.Context, reason error, pause time.Duration) {
	// Objects that may be listed and not watched are followed for a moment, each time.
	if !f.since.IsZero() && time.Since(f.since) > steady {
		f.logged = logging.Once{}
	}
	f.since = time.Time{}
	if ctx.Err() != nil || !f.logged.New(reason) {
		return
	}
	f.announced = false
	log := f.config.Log.With("namespace", f.config.Namespace, "again", pause.Round(time.Second))
	switch {
	case errors.Is(reason, errNotServed):
		log.InfoContext(ctx, "the cluster has no FunctionConfig objects, which is looked at again now and then")
	case apierrors.IsForbidden(reason):
		log.WarnContext(ctx, "FunctionConfig objects are not followed, which takes permissions", "needed", needed, "err", reason)
	default:
		log.WarnContext(ctx, "FunctionConfig objects are not followed for now, what is known of them stays in force", "err", reason)
	}
}
