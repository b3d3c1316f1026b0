// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package commandline runs command lines as functions.
package commandline

import (
	"context"
	"fmt"
	"time"

	"github.com/google/shlex"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/process"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Evaluator runs command lines as functions. Request.Image is the command line. Evaluator splits it by a shell's rules but does not start
// a shell, and looks up the program in the PATH of Env. As in kpt, empty output counts as a ResourceList without items.
type Evaluator struct {
	// Runner runs the programs.
	Runner *process.Runner
	// Env is the environment of the programs, as "KEY=value".
	Env []string
	// Dir is the working directory; empty means the current one.
	Dir string
	// MaxTime is the maximum duration of a program; 0 means that only the caller's deadline applies.
	MaxTime time.Duration
}

// Check returns an error if a command line is invalid. It does not run the command.
func (e Evaluator) Check(command string) error {
	_, err := split(command)
	return err
}

// Evaluate runs a command line. It returns an error only if Check does.
func (e Evaluator) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	argv, err := split(req.Image)
	if err != nil {
		return evaluation.Response{}, err
	}
	var evaluator evaluation.Evaluator = &process.Function{
		Runner:         e.Runner,
		Command:        process.Command{Argv: argv, Env: e.Env, Dir: e.Dir},
		Evaluator:      evaluationv1.Evaluator_EVALUATOR_EXEC,
		Implementation: argv[0],
		Silence:        []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"),
	}
	if e.MaxTime > 0 {
		evaluator = middleware.WithMaximumTime(evaluator, e.MaxTime)
	}
	return evaluator.Evaluate(ctx, req)
}

func split(command string) ([]string, error) {
	argv, err := shlex.Split(command)
	if err != nil {
		return nil, fmt.Errorf("exec command %q must be valid: %w", command, err)
	}
	if len(argv) == 0 {
		return nil, fmt.Errorf("exec command %q must be valid: it is empty", command)
	}
	return argv, nil
}
