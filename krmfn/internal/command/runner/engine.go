// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/engine"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// engineVariables are the environment variables of kpt that name the container engine: that of newer releases, and that of older ones.
var engineVariables = []string{"KRM_FN_RUNTIME", "KPT_FN_RUNTIME"}

// engineChoice returns the first of the engineVariables that is set, and its value in lower case; both are empty if none is.
func engineChoice(p *program.Program) (variable, value string) {
	for _, variable := range engineVariables {
		if value := p.Getenv(variable); value != "" {
			return variable, strings.ToLower(value)
		}
	}
	return "", ""
}

// containers runs images with a container engine. It looks for one when the first image needs it, or at once where --runtime names it
// and no sandbox.
type containers struct {
	program *program.Program
	flags   *Flags
	names   []string
	// optional says that the sandbox runs the images if no engine answers.
	optional bool

	mu        sync.Mutex
	asked     bool
	evaluator *engine.Evaluator
	err       error
}

// connectEngine returns what makes a runtime of an engine; "engine" is whichever there is.
func connectEngine(name string) func(context.Context, *program.Program, *Flags) (Runtime, func(), error) {
	return func(ctx context.Context, p *program.Program, f *Flags) (Runtime, func(), error) {
		names, err := engineNames(p, name)
		if err != nil {
			return nil, nil, failure.Usage(err)
		}
		c := &containers{program: p, flags: f, names: names, optional: slices.Contains(f.runtimes(p), sandboxRuntime)}
		if slices.Contains(f.chosen, name) && !c.optional {
			if _, err := c.start(ctx); err != nil {
				return nil, nil, failure.Usage(err)
			}
		}
		return c, c.close, nil
	}
}

// engineNames returns the engines that a value of --runtime means, in the order in which they are looked for.
func engineNames(p *program.Program, name string) ([]string, error) {
	if name != engineRuntime {
		return []string{name}, nil
	}
	variable, only := engineChoice(p)
	switch {
	case only == "":
		return engine.Names, nil
	case slices.Contains(engine.Names, only):
		return []string{only}, nil
	}
	return nil, fmt.Errorf("$%s is %q, want docker, podman or nerdctl", variable, only)
}

// hasEngine reports whether a container engine is installed or was chosen by the user.
func hasEngine(p *program.Program) bool {
	_, chosen := engineChoice(p)
	return chosen != "" || slices.ContainsFunc(engine.Names, func(name string) bool {
		_, err := engine.Find(name, p.Environ)
		return err == nil
	})
}

// Evaluate runs the image of a function.
func (c *containers) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	evaluator, err := c.start(ctx)
	if err != nil {
		return evaluation.Response{}, &unavailableError{image: req.Image, err: err}
	}
	return evaluator.Evaluate(ctx, req)
}

// ListFunctions lists none: any image may be a function.
func (*containers) ListFunctions(context.Context) ([]*evaluatorv1.Function, error) { return nil, nil }

// start returns what evaluates with the first engine that answers. Engines are asked once.
func (c *containers) start(ctx context.Context) (*engine.Evaluator, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked {
		return c.evaluator, c.err
	}
	client, err := c.find(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.asked = true
	if err != nil {
		if c.optional {
			c.program.Notices.Warn(err.Error() + ": images run in the sandbox")
		}
		c.err = err
		return nil, err
	}
	c.evaluator = engine.New(client, c.options())
	return c.evaluator, nil
}

// find returns the first engine that answers. The error tells of those that do not.
func (c *containers) find(ctx context.Context) (engine.Client, error) {
	var silent []string
	for _, name := range c.names {
		client, err := engine.Find(name, c.program.Environ)
		if err != nil {
			continue
		}
		if err := client.Ping(ctx); err != nil {
			silent = append(silent, err.Error())
			continue
		}
		return client, nil
	}
	if len(silent) > 0 {
		return engine.Client{}, errors.New(strings.Join(silent, "; "))
	}
	return engine.Client{}, fmt.Errorf("no container engine is installed (no %s in the PATH)", or(c.names))
}

func (c *containers) options() engine.Options {
	f, notices := c.flags, c.program.Notices
	o := engine.Options{
		Network: f.network, CurrentUser: f.currentUser, Env: f.env, Mounts: f.mounts,
		Policy: engine.Policy(f.policy.value), Prefix: f.ImagePrefix, MaxOutput: f.Limits.MaxListSize, MaxTime: maxExecTime,
		Pulling: func(image, line string, goesOn bool) {
			if !goesOn {
				notices.Doing("", "")
				return
			}
			notices.Doing("pulling "+image, line)
		},
		Warn: notices.Warn,
	}
	if info, err := os.Stat(c.program.Executable); err == nil && info.Mode()&0o001 != 0 && engine.IsStatic(c.program.Executable) {
		o.Entrypoint = c.program.Executable
	}
	return o
}

func (c *containers) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.evaluator != nil {
		c.evaluator.Close()
	}
}

// unavailableError says why there is no container engine. To those who ask several runtimes it is an *evaluation.NotFoundError: another
// one may run the image.
type unavailableError struct {
	image string
	err   error
}

func (e *unavailableError) Error() string { return e.err.Error() }

func (e *unavailableError) Unwrap() []error {
	return []error{&evaluation.NotFoundError{Image: e.image}, e.err}
}

// imageRuntimes returns what runs images where no flag says otherwise.
func (f *Flags) imageRuntimes(p *program.Program) []string {
	var names []string
	if hasEngine(p) || len(f.beyond(sandboxRuntime)) > 0 {
		names = append(names, engineRuntime)
	}
	// Whoever names an engine for kpt wants no other runtime.
	if _, chosen := engineChoice(p); chosen == "" && hasSandbox(p) {
		names = append(names, sandboxRuntime)
	}
	return names
}

// or names alternatives in a sentence.
func or(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// listed returns the runtimes that the environment names.
func listed(p *program.Program) []string {
	return slices.DeleteFunc(strings.Split(cmp.Or(p.Getenv(runtimeVariable), ""), ","), func(name string) bool { return name == "" })
}
