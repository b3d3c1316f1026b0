// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"context"
	"time"

	"google.golang.org/grpc/connectivity"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/registry"
	"github.com/krmfn/krmfn/services/images/tags"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// maxListTime is how long a registry may take to list the tags of an image.
const maxListTime = 10 * time.Second

// evaluator returns the runtimes, in the order in which Porch has them: functions in the process first, and those that are
// not found there in the function runner.
func (h *Handler) evaluator() (evaluation.Evaluator, error) {
	o := h.config.Options
	var runtimes runtime.Multi
	if o.Builtin {
		// Where there is nobody to leave other versions to, the one that is here is better than none.
		strict := o.FunctionRunner != ""
		runtimes = append(runtimes, runtime.Builtin{Functions: functions.All(), Prefix: o.DefaultImagePrefix, StrictVersions: strict})
	}
	if o.FunctionRunner != "" {
		limits := runtime.Limits{MaxMessageSize: o.Limits.MaxMessageSize, MaxListSize: o.Limits.MaxListSize}
		secure, err := o.Runner.DialOptions(o.FunctionRunner, h.config.Log)
		if err != nil {
			return nil, err
		}
		if h.runner, err = runtime.Dial(o.FunctionRunner, limits, append(secure, h.config.Telemetry.DialOptions()...)...); err != nil {
			return nil, err
		}
		runtimes = append(runtimes, runtime.NewGRPC(h.runner, limits))
	}
	return runtimes, nil
}

// tags returns what lists the tags of images, with the credentials of Docker's configuration. The functions in the process
// stand in for a registry that cannot be asked.
func (h *Handler) tags(ctx context.Context) render.TagLister {
	h.registries = registry.NewClient(registry.Options{Timeout: maxListTime})
	h.listed = tags.NewCache(context.WithoutCancel(ctx), h.registries, h.config.Log)
	if o := h.config.Options; o.Builtin {
		return tags.WithBuiltin(h.listed, functions.All().Tags, o.DefaultImagePrefix)
	}
	return h.listed
}

// watchHealth tells clients whether renders can succeed: always with functions in the process, otherwise while the function
// runner can be reached. Whether the task handler is alive does not depend on that. It returns when ctx ends.
func (h *Handler) watchHealth(ctx context.Context) {
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
