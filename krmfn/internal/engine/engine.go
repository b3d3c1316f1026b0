// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine runs function images with a container engine: docker, podman or nerdctl. It uses the client's command line, with kpt's
// settings: the user nobody, no network, no new privileges, and no access to this machine. In addition, containers have memory and
// process limits, and no capabilities unless the function runs as the current user.
//
// A container is reused for all calls of a function if it can run the entrypoint, which is this program, mounted read-only. Each call
// gets a new container if it cannot: if the engine runs on another machine, if this program is not a static Linux executable, or if
// there are mounts. Close, a canceled call, and the engine (after this process exits) remove containers.
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

	"github.com/krmfn/krmfn/internal/process"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Options configure an Evaluator. Zero values mean the defaults.
type Options struct {
	// Network gives functions access to the network of this machine.
	Network bool
	// CurrentUser runs functions as the user of this process.
	CurrentUser bool
	// Env is the environment of functions: KEY=value, or KEY for a variable of the client's environment.
	Env []string
	// Mounts are the files and volumes that functions can access.
	Mounts []Mount
	// Policy controls when images are pulled. The default is IfNotPresent.
	Policy Policy
	// Prefix is the registry prefix that was added to short image names. Locally built images do not have it.
	Prefix string
	// Entrypoint is the path of a static Linux executable whose main function calls entrypoint.Run. If it is empty, each call gets a
	// new container.
	Entrypoint string
	// MaxOutput is the maximum size of a function's output in bytes. The default is 6 MiB.
	MaxOutput int64
	// MaxTime is the maximum duration of a call, excluding the time to pull the image and to start a reusable container. The default is
	// 5 minutes.
	MaxTime time.Duration
	// Pulling, unless nil, gets the engine's progress messages while it pulls an image. The first call has an empty line, and the last
	// call has goesOn false.
	Pulling func(image, line string, goesOn bool)
	// Warn, unless nil, gets the engine's warnings.
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

// Evaluator evaluates functions by running their images. It is safe for concurrent use. The caller must call Close.
type Evaluator struct {
	client  Client
	options Options
	// processes runs the engine's client for calls that get a new container.
	processes *process.Runner

	mu        sync.Mutex
	functions map[string]*function
	warned    map[string]bool

	limitsOnce sync.Once
	limitFlags []string
}

// function is an image with its containers. Except image and idle, Evaluator.mu guards the fields.
type function struct {
	// mu guards image, and is held while the image is looked up or pulled.
	mu    sync.Mutex
	image *image
	// newPerCall means that the function has no reusable containers: each call gets a new one.
	newPerCall bool
	// live is the number of reusable containers, and starting the number of those that are starting. idle holds containers that wait
	// for a call.
	live, starting int
	idle           chan *container
}

// New returns an evaluator that uses the engine of the client.
func New(client Client, o Options) *Evaluator {
	o.Policy, o.MaxOutput, o.MaxTime = cmp.Or(o.Policy, IfNotPresent), cmp.Or(o.MaxOutput, 6<<20), cmp.Or(o.MaxTime, 5*time.Minute)
	return &Evaluator{
		client: client, options: o, functions: map[string]*function{}, warned: map[string]bool{},
		processes: process.NewRunner(process.Options{Limits: process.Limits{Stdout: o.MaxOutput}}),
	}
}

// Evaluate runs the image's command once. Errors are *ImageError, *ContainerError, or the context's cause.
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
	if call.engineError != nil {
		return evaluation.Response{}, call.engineError
	}
	return resp, err
}

// function returns the function of an image. The first call looks up the image, or pulls it.
func (e *Evaluator) function(ctx context.Context, ref string) (*function, error) {
	e.mu.Lock()
	fn := e.functions[ref]
	if fn == nil {
		// Containers with mounts are not reused, because one call could leave changes for the next.
		fn = &function{newPerCall: e.options.Entrypoint == "" || len(e.options.Mounts) > 0, idle: make(chan *container, maxContainers)}
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

// limits returns the flags that limit containers. It queries the engine once.
func (e *Evaluator) limits(ctx context.Context) []string {
	e.limitsOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTime)
		defer cancel()
		var warning string
		if e.limitFlags, warning = e.client.limits(ctx); warning != "" {
			e.warnings([]string{warning})
		}
	})
	return e.limitFlags
}

// Close removes the reusable containers. No call may be running.
func (e *Evaluator) Close() {
	var closing sync.WaitGroup
	e.mu.Lock()
	for _, fn := range e.functions {
		for len(fn.idle) > 0 {
			closing.Go((<-fn.idle).close)
			fn.live--
		}
	}
	e.mu.Unlock()
	closing.Wait()
	e.processes.Close()
}

// warnings passes each distinct warning of the engine to the Warn option once.
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

// ContainerError reports that the engine could not run a container. It says nothing about the function.
type ContainerError struct {
	// Engine is the engine's name. Image is the engine's name of the image.
	Engine, Image string
	// Err is the engine's message.
	Err error
}

func (e *ContainerError) Error() string {
	return fmt.Sprintf("%s cannot run the image %s: %v", e.Engine, e.Image, e.Err)
}

// Unwrap returns Err.
func (e *ContainerError) Unwrap() error { return e.Err }

// containerName returns a unique name.
func containerName() string { return "krmfn-" + strings.ToLower(rand.Text()[:16]) }

// call implements process.Processes for one call.
type call struct {
	evaluator *Evaluator
	function  *function
	// engineError is an error that is not the function's. Evaluate returns it instead of a report.
	engineError error
}

// Run runs the function in a reusable container, or in a new one if it has none.
func (c *call) Run(ctx context.Context, command process.Command, stdin []byte) (process.Outcome, error) {
	e, limit := c.evaluator, cmp.Or(command.MaxStdout, c.evaluator.options.MaxOutput)
	reusable, err := e.acquire(ctx, c.function)
	if err != nil {
		c.engineError = err
		return process.Outcome{ExitCode: -1}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.options.MaxTime, &evaluation.TimeoutError{Limit: e.options.MaxTime})
	defer cancel()
	var outcome process.Outcome
	if reusable == nil {
		outcome, err = e.runInNewContainer(ctx, c.function.image, stdin, limit)
	} else {
		outcome, err = e.runInReusableContainer(ctx, c.function, reusable, stdin, limit)
	}
	if errors.As(err, new(*ContainerError)) {
		c.engineError = err
	}
	return outcome, err
}
