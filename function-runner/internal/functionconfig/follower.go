// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

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
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/server/logging"
)

// Config is what a follower needs. All of it must be set.
type Config struct {
	Rules

	// Client has the objects of the namespace.
	Client    dynamic.ResourceInterface
	Namespace string
	// Served tells whether the cluster has such objects.
	Served func(ctx context.Context) (bool, error)
	// What follows is called by one goroutine, and must not wait. Functions gets all functions with executables, PodsChanged is
	// told that settings of pods have changed, and Warm gets the references that need pods now and did not before.
	Functions   func([]exec.Executable)
	PodsChanged func()
	Warm        func(references []string)
	// Reloaded is told, each time that the objects have been looked at, whether what is in force has changed, or what in them cannot be
	// used, or else why they are not followed.
	Reloaded func(changed bool, err error)
	// Log gets one line for each change that takes effect, and for each new problem.
	Log *slog.Logger
}

// Follower has in force what the objects say. Its methods may be used by any number of goroutines at once.
type Follower struct {
	config  Config
	state   atomic.Pointer[state]
	recheck chan struct{}
	tried   chan struct{}
	// done closes tried.
	done func()

	// What follows is Run's alone: why objects were not followed, whether it was logged since that they are, and since when they
	// are, and what was logged of objects, by name.
	logged    logging.Once
	announced bool
	since     time.Time
	problems  map[string]string
}

// New returns a follower that knows of no object before Run.
func New(c Config) *Follower {
	f := &Follower{config: c, recheck: make(chan struct{}, 1), tried: make(chan struct{})}
	f.done = sync.OnceFunc(func() { close(f.tried) })
	f.state.Store(newState(&f.config.Rules, nil))
	return f
}

// Pods returns the settings of a function's pods, by its resolved reference, whatever its tag; all zero where it has none.
func (f *Follower) Pods(ref string) Settings {
	repository, _, _ := reference.Split(ref)
	return f.state.Load().pods[repository]
}

// Tried is closed once what objects there are is in force, or cannot be had for the moment. It takes half a minute at most from
// the start of Run.
func (f *Follower) Tried() <-chan struct{} { return f.tried }

// Recheck looks at the objects again soon, because Rules may have changed. It does not wait.
func (f *Follower) Recheck() { signal(f.recheck) }

// recheckInterval is how often objects are looked at though nothing tells of a change: executables come and go without.
const recheckInterval = 30 * time.Second

// Run follows the objects until ctx ends. It is called once. Problems are logged, and it is tried again.
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

// apply puts in force what objects say.
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

// logProblems logs what is wrong with objects, once for each text.
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
