// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package exec is the exec evaluator: it evaluates functions that have an executable in the function runner's file system.
package exec

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/krmfn/krmfn/function-runner/internal/memo"
	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/process"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Processes runs executables and starts standby processes.
type Processes interface {
	process.Processes
	Prepare(c process.Command)
}

// Limits are the limits and caches that all executables share.
type Limits struct {
	// Gate limits the number of running executables and of waiting calls. Memory must be sized for the same number of executables.
	Gate   *middleware.Gate
	Memory process.Memory
	// Memo caches the results of deterministic executables. Nil disables the result cache. Cached results need neither Gate nor Memory.
	Memo *memo.Cache
}

// Evaluator evaluates functions by running their executables. Its methods are safe for concurrent use.
type Evaluator struct {
	runner  Processes
	limits  Limits
	env     []string
	prefix  string
	log     *slog.Logger
	catalog atomic.Pointer[catalog]

	// mu guards sources, from which the catalog is built.
	mu      sync.Mutex
	sources sources
}

// New returns an evaluator for the given functions. The runner runs executables within limits. env is their whole environment. Short
// names are resolved with prefix. The evaluator logs images that several sources configure.
func New(runner Processes, limits Limits, env []string, prefix string, log *slog.Logger, functions ...Executable) *Evaluator {
	e := &Evaluator{runner: runner, limits: limits, env: env, prefix: prefix, log: log, sources: sources{given: functions}}
	e.catalog.Store(newCatalog(functions, prefix))
	return e
}

// Evaluate runs the executable for the request's image. It returns an *evaluation.NotFoundError if the image has no executable.
func (e *Evaluator) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	f, ref, ok := e.Find(req.Image)
	if !ok {
		return evaluation.Response{}, &evaluation.NotFoundError{Image: req.Image}
	}
	function := process.Function{
		Runner:         e.runner,
		Command:        e.command(f),
		Evaluator:      evaluationv1.Evaluator_EVALUATOR_EXEC,
		Implementation: f.Implementation,
	}
	resp, err := e.remember(f, e.limits.Gate.Limit(e.limits.Memory.Limit(function))).Evaluate(ctx, req)
	notStarted := resp.Report.GetFailure().GetReason() == evaluationv1.FailureReason_FAILURE_REASON_START
	if notStarted && usable(f.Path) != nil {
		// The executable was deleted after the config file was loaded. Another evaluator may have the function.
		return evaluation.Response{}, &evaluation.NotFoundError{Image: req.Image}
	}
	if resp.Report != nil {
		resp.Report.Image = ref
		_, _, resp.Report.Digest = reference.Split(ref)
		resp.Report.Warning = reference.Substitution(req.Image, f.Version)
	}
	return resp, err
}

// Prepare starts a standby process for the function's next call.
func (e *Evaluator) Prepare(f Executable) { e.runner.Prepare(e.limits.Memory.Prepared(e.command(f))) }

func (e *Evaluator) command(f Executable) process.Command {
	return process.Command{Argv: []string{f.Path}, Env: e.env, Worker: f.Traits.Worker, NoStandby: f.Traits.NoStandby}
}

// remember wraps an evaluator with the result cache if the function is deterministic. Results stay valid while the executable is the same
// unchanged file. Changes of libraries and data files do not invalidate them.
func (e *Evaluator) remember(f Executable, running evaluation.Evaluator) evaluation.Evaluator {
	if !f.Traits.Deterministic || e.limits.Memo == nil {
		return running
	}
	command := e.command(f)
	identity := command.Program().Identity()
	if identity == "" {
		return running
	}
	return e.limits.Memo.Keep(identity, running)
}

// Find returns the function that evaluates an image, and the resolved reference of the image.
func (e *Evaluator) Find(name string) (f Executable, ref string, ok bool) {
	if ref = canonical(name, e.prefix); ref == "" {
		return f, name, false
	}
	if found := e.catalog.Load().find(ref); found != nil {
		return *found, ref, true
	}
	return f, ref, false
}

// Functions returns the functions, sorted by name. The caller must not modify their fields.
func (e *Evaluator) Functions() []Executable {
	return slices.SortedStableFunc(slices.Values(e.catalog.Load().functions), func(a, b Executable) int { return cmp.Compare(a.Name, b.Name) })
}
