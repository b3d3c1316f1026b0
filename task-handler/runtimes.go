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

// maxListTime limits a request for the tags of an image.
const maxListTime = 10 * time.Second

// evaluator returns the runtimes in Porch's order: curated functions first, then the function runner. Plain curated functions run in this
// process. Others run in processes, with a memory limit in bytes for all of them.
func (h *handler) evaluator(ctx context.Context, memory int64) (evaluation.Evaluator, error) {
	o := h.config.Options
	var runtimes runtime.Multi
	if o.Builtin {
		// Without a function runner, the built-in version replaces other versions.
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
		return withoutProgram{runtimes, h.config.Functions, o.DefaultImagePrefix}, nil
	}
	return runtimes, nil
}

// tags returns a lister of the tags of images, with the credentials in Docker's configuration. If a registry is unreachable, the lister
// returns the versions of curated functions.
func (h *handler) tags(ctx context.Context) render.TagLister {
	h.registries = registry.NewClient(registry.Options{Timeout: maxListTime})
	h.listed = tags.NewCache(context.WithoutCancel(ctx), h.registries, h.config.Log)
	if o := h.config.Options; o.Builtin {
		return tags.WithBuiltin(h.listed, h.curated.Tags, o.DefaultImagePrefix)
	}
	return h.listed
}

// watchHealth sets the health of the services until ctx ends. They are serving if renders can succeed: always with curated functions, and
// otherwise while the function runner is reachable. The health of the server does not depend on it.
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
