// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/engine"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/reference"
)

// The runtimes that --runtime names.
const (
	builtinRuntime = "builtin"
	remoteRuntime  = "runner"
	engineRuntime  = "engine"
	sandboxRuntime = "sandbox"
)

// runtimeVariable is the environment variable that gives --runtime another default.
const runtimeVariable = "KRMFN_RUNTIME"

// connectors make the runtimes. Each is a Runtime whose error for a function that is not its own is an *evaluation.NotFoundError.
var connectors = map[string]func(context.Context, *program.Program, *Flags) (Runtime, func(), error){
	builtinRuntime: connectBuiltin,
	remoteRuntime:  ConnectTo,
	engineRuntime:  connectEngine(engineRuntime),
	engine.Docker:  connectEngine(engine.Docker),
	engine.Podman:  connectEngine(engine.Podman),
	engine.Nerdctl: connectEngine(engine.Nerdctl),
	sandboxRuntime: connectSandbox,
}

// Runtimes are the names that --runtime takes, sorted.
func Runtimes() []string { return slices.Sorted(maps.Keys(connectors)) }

// runtimes returns the names of the runtimes, in the order in which they are tried. By default, a function runner is the only runtime,
// because it has a chain of its own. Runtimes that do not support a flag that is set are left out.
func (f *Flags) runtimes(p *program.Program) []string {
	switch {
	case len(f.chosen) > 0:
		return f.chosen
	case f.Address != "":
		return []string{remoteRuntime}
	}
	names := listed(p)
	if len(names) == 0 {
		names = append([]string{builtinRuntime}, f.imageRuntimes(p)...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return len(f.beyond(name)) > 0 })
}

func (f *Flags) validateRuntimes() error {
	source, names := "--runtime", f.chosen
	if len(names) == 0 && f.Address == "" && f.program != nil {
		source, names = "$"+runtimeVariable, listed(f.program)
	}
	for i, name := range names {
		switch {
		case connectors[name] == nil:
			return fmt.Errorf("%s is %q, want a list of builtin, runner, engine, docker, podman, nerdctl and sandbox", source, name)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("%s names %s twice", source, name)
		case name == remoteRuntime && f.Address == "":
			return fmt.Errorf("%s includes the function runner: give its address with --runner", source)
		}
	}
	switch {
	case len(f.chosen) == 0:
	case f.Address != "" && !slices.Contains(f.chosen, remoteRuntime):
		return errors.New("--runtime leaves out the function runner that --runner names: add runner to the list, or leave out --runner")
	case f.isolate && !slices.Contains(f.chosen, builtinRuntime):
		return errors.New("--isolate applies only to the curated functions: add builtin to --runtime")
	}
	return f.validateContainer()
}

// validateContainer refuses flags about containers that would have no effect.
func (f *Flags) validateContainer() error {
	if f.program == nil {
		return nil
	}
	names := f.runtimes(f.program)
	if slices.Contains(names, engineRuntime) {
		if _, err := engineNames(f.program, engineRuntime); err != nil {
			return err
		}
	}
	if needs := f.beyond(builtinRuntime); len(needs) > 0 && len(f.chosen) == 0 && !hasEngine(f.program) {
		return fmt.Errorf("%s needs a container engine: install docker, podman or nerdctl", strings.Join(needs, " and "))
	}
	for _, name := range names {
		if flags := f.beyond(name); len(flags) > 0 {
			return fmt.Errorf("%s cannot be used with the runtime %s: leave it out, or use a container engine (--runtime engine)", strings.Join(flags, " and "), name)
		}
	}
	if len(f.env) > 0 && f.isolate {
		return errors.New("--env and --isolate exclude each other")
	}
	return nil
}

// Connect returns what the flags say evaluates functions. The caller must call disconnect, which ends what was started for that.
// Errors are failure.Runner, or the context's cause.
func Connect(ctx context.Context, p *program.Program, f *Flags) (_ Runtime, disconnect func(), err error) {
	var all several
	var ends []func()
	disconnect = func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}
	for _, name := range f.runtimes(p) {
		r, end, err := connectors[name](ctx, p, f)
		if err != nil {
			disconnect()
			return nil, nil, err
		}
		all, ends = append(all, r), append(ends, end)
	}
	if len(all) == 1 {
		// It can more than several can together.
		return all[0], disconnect, nil
	}
	return all, disconnect, nil
}

// several runtimes are asked one after the other. Only a function that is not found moves on.
type several []Runtime

// Evaluate returns the answer of the first runtime that knows the function. What the others said of it comes before an error.
func (s several) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	var missing error
	for _, r := range s {
		resp, err := r.Evaluate(ctx, req)
		if err == nil || ctx.Err() != nil {
			return resp, err
		}
		// Others cannot know an image that is on this machine.
		if missing == nil || reference.IsLocal(req.Image) {
			missing = err
		} else {
			missing = fmt.Errorf("%w; %w", missing, err)
		}
		if !errors.As(err, new(*evaluation.NotFoundError)) {
			break
		}
	}
	return evaluation.Response{}, missing
}

// EvaluateList asks the first runtime, if it can evaluate lists in memory: who comes after it must not be asked before it.
func (s several) EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error) {
	if first, ok := s[0].(interface {
		EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error)
	}); ok {
		return first.EvaluateList(ctx, image, list)
	}
	return nil, &evaluation.NotFoundError{Image: image}
}

// ListFunctions returns those of all runtimes.
func (s several) ListFunctions(ctx context.Context) ([]*evaluatorv1.Function, error) {
	var all []*evaluatorv1.Function
	for _, r := range s {
		list, err := r.ListFunctions(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}
