// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfigs

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

	"github.com/krmfn/krmfn/internal/cluster/client"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/server/logging"
	"github.com/krmfn/krmfn/internal/traits"
)

const (
	// servedTimeout and syncTimeout limit the time to find out whether the cluster serves the resource, and to list the objects.
	servedTimeout, syncTimeout = 10 * time.Second, 20 * time.Second
)

var (
	// errNotServed reports that the cluster does not serve the resource.
	errNotServed = errors.New("the cluster has no FunctionConfig objects")
	errSlow      = fmt.Errorf("the API server has not returned the FunctionConfig objects within %v", syncTimeout)
)

// follow watches the objects until ctx ends or the watch fails, and returns why. It calls synced when the objects are known.
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

// keep applies the objects in the store when they may have changed, until ctx ends.
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

// served returns nil if the cluster serves the resource. If the cluster does not serve it, served removes all settings.
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

// watchFailed returns a handler that gives up on errors for which short retries are useless, and logs each new kind of other errors once.
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

// slim removes the fields that the follower does not use from an object.
func slim(object any) (any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		u.SetManagedFields(nil)
		u.SetAnnotations(traits.Only(u.GetAnnotations()))
		u.SetLabels(nil)
	}
	return object, nil
}

// Served reports whether the API server serves FunctionConfig objects. It uses the discovery API, which needs no permissions.
func Served(ctx context.Context, discovery rest.Interface) (bool, error) {
	resources := &metav1.APIResourceList{}
	err := discovery.Get().AbsPath("/apis", functionconfig.Resource.Group, functionconfig.Resource.Version).Do(ctx).Into(resources)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == functionconfig.Resource.Resource }), err
}

const (
	// notServedPause is the interval at which the follower checks whether the cluster serves the resource.
	notServedPause = 2 * time.Minute
	// forbiddenPause is the retry interval while permissions are missing.
	forbiddenPause = 5 * time.Minute
	// firstPause and longestPause are the limits of the backoff after other errors.
	firstPause, longestPause = time.Second, 2 * time.Minute
	// steady is the minimum duration of a watch after which the same problem is logged again.
	steady = time.Minute

	// needed are the required permissions in the namespace.
	needed = "get, list, watch, patch on functionconfigs and patch on functionconfigs/status, in the API group config.porch.kpt.dev"
)

// announce logs that the objects are watched, once after each logged problem.
func (f *Follower) announce(ctx context.Context, objects int) {
	f.since = time.Now()
	if !f.announced {
		f.announced = true
		f.config.Log.InfoContext(ctx, "FunctionConfig objects are followed", "namespace", f.config.Namespace, "objects", objects)
	}
}

// report logs why the objects are not watched, once for each reason.
func (f *Follower) report(ctx context.Context, reason error, pause time.Duration) {
	// If list is allowed but watch is not, each attempt lasts for a moment.
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
