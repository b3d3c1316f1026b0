// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package pullsecret keeps the Secret by which nodes pull function images from private registries: the content of a docker
// config file, in the namespace of the function pods.
//
// It needs to get, create and update Secrets there, and nothing else. What is in the file is in no log and no error.
package pullsecret

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/services/server/configfile"
	"github.com/krmfn/krmfn/services/server/logging"
)

// Secrets are the Secrets of a namespace.
type Secrets interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error)
	Create(ctx context.Context, secret *corev1.Secret, options metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, options metav1.UpdateOptions) (*corev1.Secret, error)
}

// Config is what a Keeper needs. All of it must be set, unless it says otherwise.
type Config struct {
	Client Secrets
	// Namespace and Name are the Secret's.
	Namespace, Name string
	// File is the docker config file, of at most 1 MiB.
	File string
	// Attempted is told, after each attempt, whether it has changed the Secret's content, or why the Secret is not up to date. It may be nil.
	Attempted func(changed bool, err error)
	// Log gets one line for each change of the Secret, and for each new problem.
	Log *slog.Logger
}

// Keeper keeps the Secret as the file is. Several of them, in several processes, may keep the same one.
type Keeper struct {
	config Config
	tried  chan struct{}
	once   sync.Once

	// What follows is Run's alone: the content that the Secret has, and since when.
	written []byte
	checked time.Time
	logged  logging.Once
}

const (
	// recheck is how often the Secret is looked at though the file is the same: somebody may have changed or removed it.
	recheck = 5 * time.Minute
	// attemptTimeout is the most time that one attempt takes.
	attemptTimeout = 30 * time.Second
	// The pauses after a failure.
	firstPause, longestPause = time.Second, 2 * time.Minute
)

// New returns a Keeper that does nothing before Run.
func New(c Config) *Keeper { return &Keeper{config: c, tried: make(chan struct{})} }

// Tried is closed once the first attempt has ended, whatever came of it. Pods that are made before could find no Secret;
// those made later find the one of another replica, or the problem is in the log.
func (k *Keeper) Tried() <-chan struct{} { return k.tried }

// Run keeps the Secret until ctx ends. It is called once. Failures are logged, and tried again.
func (k *Keeper) Run(ctx context.Context) {
	changed := make(chan struct{}, 1)
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { k.watch(ctx, changed) })
	k.keep(ctx, changed)
}

// watch tells of changes of the file. While its directory cannot be watched, a look now and then does.
func (k *Keeper) watch(ctx context.Context, changed chan<- struct{}) {
	for ctx.Err() == nil {
		err := configfile.Watch(ctx, k.config.File, k.config.Log, func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
		if err != nil {
			wait(ctx, nil, longestPause)
		}
	}
}

// keep looks at the file and the Secret at once, when the file may have changed, and after a pause.
func (k *Keeper) keep(ctx context.Context, changed <-chan struct{}) {
	pauses := &backoff.ExponentialBackOff{
		InitialInterval: firstPause, MaxInterval: longestPause, Multiplier: 2, RandomizationFactor: 0.2,
	}
	pauses.Reset()
	for ctx.Err() == nil {
		pause := recheck
		before := k.written
		err := k.attempt(ctx)
		if k.config.Attempted != nil && ctx.Err() == nil {
			k.config.Attempted(!bytes.Equal(before, k.written), err)
		}
		if err != nil {
			pause = pauses.NextBackOff()
		} else {
			pauses.Reset()
		}
		if k.logged.New(err) && ctx.Err() == nil {
			k.config.Log.ErrorContext(ctx, "the pull secret of the function pods is not up to date, which is tried again", "err", err)
		}
		k.once.Do(func() { close(k.tried) })
		// Events that come in quick succession, while the API server refuses, must not make a storm of requests.
		wait(ctx, nil, min(pause, firstPause))
		wait(ctx, changed, pause-firstPause)
	}
}

// wait returns after a pause, or when the file may have changed.
func wait(ctx context.Context, changed <-chan struct{}, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-changed:
	case <-time.After(pause):
	}
}
