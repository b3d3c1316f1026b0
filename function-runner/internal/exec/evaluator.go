// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package exec is the exec evaluator: functions that have an executable on the function runner's own file system.
package exec

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/memo"
	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Processes run executables, and start them ahead of their calls.
type Processes interface {
	process.Processes
	Prepare(c process.Command)
}

// Limits are what executables share.
type Limits struct {
	// Gate bounds how many executables run at once, and how many calls wait. Memory is made for as many executables.
	Gate   *evaluation.Gate
	Memory process.Memory
	// Memo keeps the answers of deterministic executables; nil keeps none. Cached answers take nothing from Gate and Memory.
	Memo *memo.Cache
}

// Evaluator evaluates functions by running their executables. It may be used by any number of goroutines at once.
type Evaluator struct {
	runner  Processes
	limits  Limits
	env     []string
	prefix  string
	log     *slog.Logger
	catalog atomic.Pointer[catalog]

	// mu guards sources, which the catalog is made of.
	mu      sync.Mutex
	sources sources
}

// New returns an evaluator that knows functions. Executables are run by runner, within limits, with env and nothing
// else of the environment. Short names are resolved with prefix. What configurations take from each other is logged.
func New(runner Processes, limits Limits, env []string, prefix string, log *slog.Logger, functions ...Executable) *Evaluator {
	e := &Evaluator{runner: runner, limits: limits, env: env, prefix: prefix, log: log, sources: sources{given: functions}}
	e.catalog.Store(newCatalog(functions, prefix))
	return e
}

// Evaluate runs the executable of the request's image. The error is an *evaluation.NotFoundError for an image without one.
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
		// The executable has gone since the config file was read, which makes the entry one without.
		return evaluation.Response{}, &evaluation.NotFoundError{Image: req.Image}
	}
	if resp.Report != nil {
		resp.Report.Image = ref
		_, _, resp.Report.Digest = reference.Split(ref)
		resp.Report.Warning = reference.Substitution(req.Image, f.Version)
	}
	return resp, err
}

// Prepare starts the executable of a function ahead of its next call.
func (e *Evaluator) Prepare(f Executable) { e.runner.Prepare(e.limits.Memory.Prepared(e.command(f))) }

func (e *Evaluator) command(f Executable) process.Command {
	return process.Command{Argv: []string{f.Path}, Env: e.env, Worker: f.Traits.Worker, NoStandby: f.Traits.NoStandby}
}

// remember has the answers of a deterministic function kept for as long as its executable is the same file, unchanged. What else it
// comes with, such as libraries and data, is no part of that.
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

// Find returns the function that evaluates an image, and the reference that the image is resolved to.
func (e *Evaluator) Find(name string) (f Executable, ref string, ok bool) {
	if ref = canonical(name, e.prefix); ref == "" {
		return f, name, false
	}
	if found := e.catalog.Load().find(ref); found != nil {
		return *found, ref, true
	}
	return f, ref, false
}

// Functions lists the functions, sorted by name. The caller must not change what is in them.
func (e *Evaluator) Functions() []Executable {
	return slices.SortedStableFunc(slices.Values(e.catalog.Load().functions), func(a, b Executable) int { return cmp.Compare(a.Name, b.Name) })
}
