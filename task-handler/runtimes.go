// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/connectivity"

	"github.com/krmfn/krmfn/functions/plain"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/images/tags"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/remote"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// maxListTime is how long a registry may take to list the tags of an image.
const maxListTime = 10 * time.Second

// evaluator returns the runtimes, in the order in which Porch has them: curated functions first, plain ones in this process and others in
// processes that have memory bytes, and then the function runner.
func (h *handler) evaluator(ctx context.Context, memory int64) (evaluation.Evaluator, error) {
	o := h.config.Options
	var runtimes runtime.Multi
	if o.Builtin {
		// Without a function runner, the version that is here is better than none.
		builtin := runtime.Builtin{Functions: plain.Functions(), Prefix: o.DefaultImagePrefix, StrictVersions: o.FunctionRunner != ""}
		runtimes = append(runtimes, builtin)
		h.curated = slices.Clone(builtin.Functions)
		var err error
		if h.program, err = h.newProgram(ctx, builtin, memory); err != nil {
			return nil, err
		}
		if h.program != nil {
			runtimes = append(runtimes, h.program)
		}
	}
	if o.FunctionRunner != "" {
		limits := remote.Limits{MaxMessageSize: o.Limits.MaxMessageSize, MaxListSize: o.Limits.MaxListSize}
		secure, err := o.Runner.DialOptions(o.FunctionRunner, h.config.Log)
		if err != nil {
			return nil, err
		}
		if h.runner, err = remote.Dial(o.FunctionRunner, limits, append(secure, h.config.Telemetry.DialOptions()...)...); err != nil {
			return nil, err
		}
		runtimes = append(runtimes, remote.New(h.runner, limits))
	}
	if o.Builtin && h.program == nil {
		return incomplete{runtimes, h.config.Functions, o.DefaultImagePrefix}, nil
	}
	return runtimes, nil
}

// tags returns what lists the tags of images, with the credentials of Docker's configuration. The curated functions
// stand in for a registry that cannot be asked.
func (h *handler) tags(ctx context.Context) render.TagLister {
	h.registries = registry.NewClient(registry.Options{Timeout: maxListTime})
	h.listed = tags.NewCache(context.WithoutCancel(ctx), h.registries, h.config.Log)
	if o := h.config.Options; o.Builtin {
		return tags.WithBuiltin(h.listed, h.curated.Tags, o.DefaultImagePrefix)
	}
	return h.listed
}

// watchHealth tells clients whether renders can succeed: always with curated functions, otherwise while the function
// runner can be reached. Whether the task handler is alive does not depend on that. It returns when ctx ends.
func (h *handler) watchHealth(ctx context.Context) {
	if h.config.Options.Builtin {
		h.server.SetServing(true)
		return
	}
	for {
		state := h.runner.GetState()
		h.server.SetServing(state == connectivity.Ready)
		if state == connectivity.Idle {
			h.runner.Connect()
		}
		if !h.runner.WaitForStateChange(ctx, state) {
			return
		}
	}
}
