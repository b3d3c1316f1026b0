// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package pullsecret maintains the pull secret with which nodes pull function images from private registries. The Secret has the content
// of a docker config file, and is in the namespace of the function pods.
//
// The package needs permission to get, create and update Secrets in this namespace. Logs and errors never contain content of the file.
package pullsecret

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/reconcile"
	"github.com/krmfn/krmfn/internal/server/configfile"
)

// Secrets is a client for the Secrets of a namespace.
type Secrets interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error)
	Create(ctx context.Context, secret *corev1.Secret, options metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, options metav1.UpdateOptions) (*corev1.Secret, error)
}

// Config configures a Keeper. All fields must be set unless their comments say otherwise.
type Config struct {
	Client Secrets
	// Namespace and Name identify the Secret.
	Namespace, Name string
	// File is the path of the docker config file, whose maximum size is 1 MiB.
	File string
	// Attempted is called after each attempt with whether it has changed the content of the Secret, or why the Secret is not up to date.
	// It may be nil.
	Attempted func(changed bool, err error)
	// Log gets one line for each change of the Secret, and for each new problem.
	Log *slog.Logger
}

// Keeper copies the file to the Secret. Keepers in several processes can share a Secret.
type Keeper struct {
	config Config
	tried  chan struct{}
	once   sync.Once

	// The following fields belong to Run. written is the last written content, and checked is when the Secret was last known to have it.
	written []byte
	checked time.Time
}

const (
	// recheck is the interval at which Run reads the Secret while the file is unchanged, because the Secret may have been changed or
	// deleted.
	recheck = 5 * time.Minute
	// attemptTimeout is the timeout of one attempt.
	attemptTimeout = 30 * time.Second
	// watchRetryInterval is the interval at which Run tries again to watch the file's directory.
	watchRetryInterval = 2 * time.Minute
)

// New returns a Keeper that does nothing before Run.
func New(c Config) *Keeper { return &Keeper{config: c, tried: make(chan struct{})} }

// Tried returns a channel that is closed after the first attempt, whether or not it has succeeded. Pods that are created earlier may find
// no Secret. Pods that are created later find the Secret of some replica, or the log has the problem.
func (k *Keeper) Tried() <-chan struct{} { return k.tried }

// Run maintains the Secret until ctx ends. It logs errors and retries. Call it once.
func (k *Keeper) Run(ctx context.Context) {
	changed := make(chan struct{}, 1)
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { k.watch(ctx, changed) })
	k.keep(ctx, changed)
}

// watch signals changes of the file. While the directory cannot be watched, only the regular attempts notice changes.
func (k *Keeper) watch(ctx context.Context, changed chan<- struct{}) {
	for ctx.Err() == nil {
		err := configfile.Watch(ctx, k.config.File, k.config.Log, func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(watchRetryInterval):
			}
		}
	}
}

// keep makes attempts at once, after changes of the file, and at intervals.
func (k *Keeper) keep(ctx context.Context, changed <-chan struct{}) {
	reconcile.Loop{
		Attempt: k.reconcile, Interval: recheck, Changed: changed,
		Failed: func(err error) {
			k.config.Log.ErrorContext(ctx, "the pull secret of the function pods is not up to date, retrying", "err", err)
		},
	}.Run(ctx)
}

// reconcile makes one attempt and reports it.
func (k *Keeper) reconcile(ctx context.Context) error {
	before := k.written
	err := k.attempt(ctx)
	if k.config.Attempted != nil && ctx.Err() == nil {
		k.config.Attempted(!bytes.Equal(before, k.written), err)
	}
	k.once.Do(func() { close(k.tried) })
	return err
}
