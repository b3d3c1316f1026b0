// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/google/shlex"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/process"
)

// Exec evaluates functions that are command lines. A request has the command line in the place of the image; it is split
// by the rules of a shell, and no shell runs. The program is looked up in the PATH of Env. One that writes nothing has
// written a ResourceList without items, as for kpt.
type Exec struct {
	// Runner runs the programs.
	Runner *process.Runner
	// Env is the environment of the programs, "KEY=value" each.
	Env []string
	// Dir is the working directory; empty means the caller's own.
	Dir string
	// MaxTime is the most time that one command line may take; 0 means no limit but the caller's.
	MaxTime time.Duration
}

// Check tells what is wrong with a command line, without running it.
func (e Exec) Check(command string) error {
	_, err := split(command)
	return err
}

// Evaluate runs a command line. The only error is that of Check.
func (e Exec) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
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
		evaluator = evaluation.WithMaximumTime(evaluator, e.MaxTime)
	}
	return evaluator.Evaluate(ctx, req)
}

func split(command string) ([]string, error) {
	argv, err := shlex.Split(command)
	if err != nil {
		return nil, fmt.Errorf("exec command %q must be valid: %w", command, err)
	}
	if len(argv) == 0 {
		return nil, fmt.Errorf("exec command %q must be valid: it names no program", command)
	}
	return argv, nil
}
