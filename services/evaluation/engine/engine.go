// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine runs the images of functions by the command line of a container engine: docker, podman or nerdctl. What a function gets
// is what kpt gives it: the user nobody, no network, no new privileges, nothing of the machine. In addition, it has no capabilities,
// unless it runs as the current user, and its memory and processes are limited.
//
// A container is kept for all calls of a function where it can have an entrypoint of ours: this program, mounted read-only. Where it
// cannot, because the engine is on another machine or this program is no static one for Linux, and with mounts, each call has a container
// of its own.
// Containers are removed when they are not needed any more: by Close, when a call is given up, and by the engine when this process is
// gone.
package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/process"
)

// Options say how functions run. Zero values mean the defaults.
type Options struct {
	// Network gives functions the network of the machine.
	Network bool
	// CurrentUser runs functions as the user of this process.
	CurrentUser bool
	// Env is what functions get in their environment: KEY=value, or a KEY of the client's environment.
	Env []string
	// Mounts are what functions see of the machine.
	Mounts []Mount
	// Policy says when images are pulled. Default IfNotPresent.
	Policy Policy
	// Prefix is the one that short names have got, which images that were built here lack.
	Prefix string
	// Entrypoint is the path of a static program for Linux whose main function calls entrypoint.Run. Without one, each call has a
	// container of its own.
	Entrypoint string
	// MaxOutput is the most bytes of a function's output. Default 6 MiB.
	MaxOutput int64
	// MaxTime is how long a call may take, without the time to pull its image and to start its container. Default 5 minutes.
	MaxTime time.Duration
	// Pulling, unless nil, is told what the engine says while it pulls an image: first "", last false.
	Pulling func(image, line string, goesOn bool)
	// Warn, unless nil, is told what the engine warns of.
	Warn func(text string)
}

func (o *Options) pulling(image, line string) {
	if o.Pulling != nil {
		o.Pulling(image, line, true)
	}
}

func (o *Options) pulled(image string) {
	if o.Pulling != nil {
		o.Pulling(image, "", false)
	}
}

func (o *Options) warn(text string) {
	if o.Warn != nil {
		o.Warn(text)
	}
}

// Evaluator evaluates functions by running their images. It may be used by any number of goroutines at once. It must be closed.
type Evaluator struct {
	client  Client
	options Options
	// processes runs the engine's command line for calls that have a container of their own.
	processes *process.Runner

	mu        sync.Mutex
	functions map[string]*function
	warned    map[string]bool

	limiting   sync.Once
	limitFlags []string
}

// function is an image that has been asked for.
type function struct {
	// mu is held while the image is looked for.
	mu    sync.Mutex
	image *image
	// alone says that no container can be kept: each call has its own.
	alone bool
	// live is how many containers there are, starting how many of them are being started, and idle those that wait for a call.
	live, starting int
	idle           chan *container
}

// New returns an evaluator that uses an engine.
func New(client Client, o Options) *Evaluator {
	o.Policy, o.MaxOutput, o.MaxTime = cmp.Or(o.Policy, IfNotPresent), cmp.Or(o.MaxOutput, 6<<20), cmp.Or(o.MaxTime, 5*time.Minute)
	return &Evaluator{
		client: client, options: o, functions: map[string]*function{}, warned: map[string]bool{},
		processes: process.NewRunner(process.Options{Limits: process.Limits{Stdout: o.MaxOutput}}),
	}
}

// Evaluate runs the image's command once. Errors: *ImageError, *ContainerError, the context's cause.
func (e *Evaluator) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	fn, err := e.function(ctx, req.Image)
	if err != nil {
		return evaluation.Response{}, err
	}
	call := &call{evaluator: e, function: fn}
	f := process.Function{
		Runner: call, Command: process.Command{Argv: fn.image.command},
		Evaluator: evaluationv1.Evaluator_EVALUATOR_ENGINE, Implementation: fn.image.id + " (" + e.client.Name + ")",
	}
	resp, err := f.Evaluate(ctx, req)
	if call.broken != nil {
		return evaluation.Response{}, call.broken
	}
	return resp, err
}

// function returns the function of an image, which is looked for once.
func (e *Evaluator) function(ctx context.Context, ref string) (*function, error) {
	e.mu.Lock()
	fn := e.functions[ref]
	if fn == nil {
		// What a function may change on this machine is none of an entrypoint's business.
		fn = &function{alone: e.options.Entrypoint == "" || len(e.options.Mounts) > 0, idle: make(chan *container, maxContainers)}
		e.functions[ref] = fn
	}
	e.mu.Unlock()
	fn.mu.Lock()
	defer fn.mu.Unlock()
	if fn.image != nil {
		return fn, nil
	}
	i, err := e.find(ctx, ref)
	fn.image = i
	return fn, err
}

// limits returns the flags for the limits of containers. It asks the engine once.
func (e *Evaluator) limits(ctx context.Context) []string {
	e.limiting.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTime)
		defer cancel()
		var warning string
		if e.limitFlags, warning = e.client.limits(ctx); warning != "" {
			e.warnings([]string{warning})
		}
	})
	return e.limitFlags
}

// Close removes the containers that are kept. Nothing may be running.
func (e *Evaluator) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	var closing sync.WaitGroup
	for _, fn := range e.functions {
		for len(fn.idle) > 0 {
			closing.Go((<-fn.idle).close)
			fn.live--
		}
	}
	closing.Wait()
	e.processes.Close()
}

// warnings hands on what the engine warns of, each text once.
func (e *Evaluator) warnings(lines []string) {
	for _, line := range lines {
		e.mu.Lock()
		known := e.warned[line]
		e.warned[line] = true
		e.mu.Unlock()
		if !known {
			e.options.warn(e.client.Name + ": " + line)
		}
	}
}

// ContainerError says that an engine could not run a container. Nothing is known of the function.
type ContainerError struct {
	// Engine is the engine's name, Image the image as the engine knows it.
	Engine, Image string
	// Err is the engine's reason.
	Err error
}

func (e *ContainerError) Error() string {
	return fmt.Sprintf("%s cannot run the image %s: %v", e.Engine, e.Image, e.Err)
}

// Unwrap returns the engine's reason.
func (e *ContainerError) Unwrap() error { return e.Err }

// containerName returns a name that no other container has.
func containerName() string { return "krmfn-" + strings.ToLower(rand.Text()[:16]) }

// call runs the one process of a call, as process.Function has it.
type call struct {
	evaluator *Evaluator
	function  *function
	// broken is the error of a call of which no verdict on the function came.
	broken error
}

// Run runs the function in a container that is kept or, where there can be none, in its own.
func (c *call) Run(ctx context.Context, command process.Command, stdin []byte) (process.Outcome, error) {
	e, limit := c.evaluator, cmp.Or(command.MaxStdout, c.evaluator.options.MaxOutput)
	box, err := e.take(ctx, c.function)
	if err != nil {
		c.broken = err
		return process.Outcome{ExitCode: -1}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.options.MaxTime, &evaluation.TimeoutError{Limit: e.options.MaxTime})
	defer cancel()
	var outcome process.Outcome
	if box == nil {
		outcome, err = e.runAlone(ctx, c.function.image, stdin, limit)
	} else {
		outcome, err = e.runKept(ctx, c.function, box, stdin, limit)
	}
	if errors.As(err, new(*ContainerError)) {
		c.broken = err
	}
	return outcome, err
}
