// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functionconfigs follows Porch's FunctionConfig objects, which configure the functions with executables, the settings of function
// pods, and the functions that get pods before their first call. It reports problems and effects in the status of the objects.
package functionconfigs

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/server/logging"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Config configures a follower. All fields must be set.
type Config struct {
	Rules

	// Client is a client for the objects of the namespace.
	Client    dynamic.ResourceInterface
	Namespace string
	// Served reports whether the cluster serves the resource.
	Served func(ctx context.Context) (bool, error)
	// One goroutine calls the following functions, which must not block. Functions gets all functions with executables. PodsChanged is
	// called when settings of pods have changed. Warm gets the references that need pods now and did not before.
	Functions   func([]exec.Executable)
	PodsChanged func()
	Warm        func(references []string)
	// Reloaded is called after each update from the objects with whether any setting has changed, and the problems of the objects, or why
	// the follower cannot watch them.
	Reloaded func(changed bool, err error)
	// Log gets one line for each effective change, and for each new problem.
	Log *slog.Logger
}

// Follower applies the settings in FunctionConfig objects. Its methods are safe for concurrent use.
type Follower struct {
	config  Config
	state   atomic.Pointer[state]
	recheck chan struct{}
	tried   chan struct{}
	// done closes tried.
	done func()

	// The following fields belong to Run. logged and announced prevent repeated log messages, since is when the current watch began, and
	// problems are the logged problems by object name.
	logged    logging.Once
	announced bool
	since     time.Time
	problems  map[string]string
}

// New returns a follower without objects until Run.
func New(c Config) *Follower {
	f := &Follower{config: c, recheck: make(chan struct{}, 1), tried: make(chan struct{})}
	f.done = sync.OnceFunc(func() { close(f.tried) })
	f.state.Store(newState(&f.config.Rules, nil))
	return f
}

// Pods returns the settings of a function's pods by its resolved reference, regardless of the tag. It returns zero settings for a
// function without settings.
func (f *Follower) Pods(ref string) functionconfig.Settings {
	repository, _, _ := reference.Split(ref)
	return f.state.Load().pods[repository]
}

// Tried returns a channel that is closed when Run has applied the existing objects, or has failed to read them for the first time. This
// takes at most half a minute.
func (f *Follower) Tried() <-chan struct{} { return f.tried }

// Recheck makes Run apply the objects again soon, because Rules may have changed. It does not block.
func (f *Follower) Recheck() { signal(f.recheck) }

// recheckInterval is the interval at which Run applies the objects without a change, because executables may appear and disappear
// unnoticed.
const recheckInterval = 30 * time.Second

// Run follows the objects until ctx ends. It logs problems and retries. Call it once.
func (f *Follower) Run(ctx context.Context) {
	pauses := backoff.ExponentialBackOff{InitialInterval: firstPause, MaxInterval: longestPause, Multiplier: 2, RandomizationFactor: 0.2}
	pauses.Reset()
	for ctx.Err() == nil {
		err := f.follow(ctx, pauses.Reset)
		if ctx.Err() == nil && !errors.Is(err, errNotServed) {
			f.config.Reloaded(false, err)
		}
		var pause time.Duration
		switch {
		case errors.Is(err, errNotServed):
			pause = notServedPause
		case apierrors.IsForbidden(err):
			pause = forbiddenPause
		default:
			pause = pauses.NextBackOff()
		}
		f.report(ctx, err, pause)
		f.done()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// apply applies the settings in the objects.
func (f *Follower) apply(objects []*unstructured.Unstructured) {
	before, now := f.state.Load(), newState(&f.config.Rules, objects)
	f.state.Store(now)
	functions := !reflect.DeepEqual(before.functions, now.functions)
	pods := !reflect.DeepEqual(before.pods, now.pods)
	if functions {
		f.config.Functions(now.functions)
	}
	if pods {
		f.config.PodsChanged()
	}
	var warm []string
	for _, ref := range now.warm {
		if _, known := slices.BinarySearch(before.warm, ref); !known {
			warm = append(warm, ref)
		}
	}
	if len(warm) > 0 {
		f.config.Warm(warm)
	}
	if functions || pods || len(warm) > 0 {
		f.config.Log.Info("FunctionConfig objects in force", "objects", len(objects), "executables", len(now.functions), "pods", len(now.pods), "warmed", len(warm))
	}
	f.logProblems(now)
	f.config.Reloaded(functions || pods || len(warm) > 0, now.problem())
}

// logProblems logs each new problem text of an object once.
func (f *Follower) logProblems(now *state) {
	texts := make(map[string]string, len(now.verdicts))
	for name, v := range now.verdicts {
		texts[name] = v.text()
		if texts[name] != "" && texts[name] != f.problems[name] {
			f.config.Log.Warn("a FunctionConfig object has problems, the rest of it is in force", "name", name, "problems", v.problems)
		}
	}
	f.problems = texts
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
