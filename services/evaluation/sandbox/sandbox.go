// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package sandbox runs the program of a function's image without a container engine, on Linux, as an ordinary user or as root. The
// function gets namespaces of its own (user, mount, pid, network, ipc, uts), the image as a read-only root, a /tmp of bounded size,
// no network but loopback, no capabilities, no new privileges, the system calls of Docker's default profile, resource limits, and
// landlock's protection where the kernel has it. Each call is one process, and nothing of it is left when it has ended.
//
// The parts come from the field's libraries: Docker's seccomp profile, go-seccomp-bpf, go-landlock. What joins them is done here with
// golang.org/x/sys/unix and not with runc's libcontainer, because that enters its namespaces in C, which a static program built
// without a C compiler cannot have, and needs runc's own program or a copy of it beside each container, and tools with extra
// privileges (newuidmap) for all that it can do beyond this package.
//
// A program that imports this package is also the first process of each sandbox: it starts itself again for that, by the path that
// os.Executable gives.
//
// Limits of what it can do: the image's files belong to one user, the one that the function runs as, so that a function cannot change
// its user; private memory is bounded for each process, not for all of a call together; and programs get no shared memory but that of
// files in /tmp and /dev/shm.
package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/images/unpacked"
)

// Limits bound each function. Zero values mean the defaults.
type Limits struct {
	// Memory is the most bytes of private memory of each process of a function. Default 4 GiB.
	Memory int64
	// Tmp is the most bytes in /tmp, and of each file. Default 256 MiB.
	Tmp int64
	// Processes is the most processes and threads of a function. Default 512.
	Processes int64
	// Files is the most files that each process has open. Default 4096.
	Files int64
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Memory: cmp.Or(l.Memory, 4<<30), Tmp: cmp.Or(l.Tmp, 256<<20),
		Processes: cmp.Or(l.Processes, 512), Files: cmp.Or(l.Files, 4096),
	}
}

// Images gives the unpacked images. Errors are the evaluator's.
type Images interface {
	Image(ctx context.Context, ref string) (unpacked.Image, error)
}

// Evaluator evaluates functions by running their images. It may be used by any number of goroutines at once.
type Evaluator struct {
	images  Images
	runner  process.Processes
	sandbox *sandbox

	mu sync.Mutex
	// permitted says that a function has run: the kernel permits sandboxes.
	permitted bool
	// ran are the images that have run, by their ids.
	ran map[string]bool
}

// New returns an evaluator. The error says that this system has no sandboxes at all.
func New(images Images, runner process.Processes, limits Limits) (*Evaluator, error) {
	s, err := newSandbox(limits.withDefaults())
	if err != nil {
		return nil, err
	}
	return &Evaluator{images: images, runner: runner, sandbox: s, ran: map[string]bool{}}, nil
}

// Evaluate runs the image's command once. Errors: *RefusedError, those of Images, the context's end.
func (e *Evaluator) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	image, err := e.images.Image(ctx, req.Image)
	if err != nil {
		return evaluation.Response{}, err
	}
	command, err := e.sandbox.command(image, false)
	if err != nil {
		return evaluation.Response{}, fmt.Errorf("image %s: %w", req.Image, err)
	}
	command.NoStandby = e.first(image)
	f := process.Function{
		Runner: e.runner, Command: command,
		Evaluator: evaluationv1.Evaluator_EVALUATOR_SANDBOX, Implementation: image.ID,
	}
	resp, err := f.Evaluate(ctx, req)
	if err == nil {
		err = e.confirm(ctx, image, resp.Report)
	}
	return resp, err
}

// first tells whether an image has not run yet. Most functions run once in a render: a sandbox is started ahead of a call only where
// a function has run before.
func (e *Evaluator) first(image unpacked.Image) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.ran[image.ID]
	e.ran[image.ID] = true
	return first
}

// confirm returns an error where an evaluation failed because the kernel does not permit sandboxes. What the report says of that is no
// proof, as a function may have written it.
func (e *Evaluator) confirm(ctx context.Context, image unpacked.Image, report *evaluationv1.Evaluation) error {
	e.mu.Lock()
	e.permitted = e.permitted || report.GetFailure() == nil
	permitted := e.permitted
	e.mu.Unlock()
	started := report.GetFailure().GetReason() != evaluationv1.FailureReason_FAILURE_REASON_START
	if permitted || started && !bytes.HasPrefix(report.GetStderr(), []byte(refusedPrefix)) {
		return nil
	}
	return e.check(ctx, image)
}

// check finds out whether the kernel permits sandboxes, without the function.
func (e *Evaluator) check(ctx context.Context, image unpacked.Image) error {
	command, err := e.sandbox.command(image, true)
	if err != nil {
		return err
	}
	outcome, err := e.runner.Run(ctx, command, nil)
	switch reason, refused := strings.CutPrefix(string(outcome.Stderr), refusedPrefix); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, new(*process.StartError)):
		return refusal(fmt.Errorf("make namespaces: %w", errors.Unwrap(err)))
	case err != nil:
		return fmt.Errorf("check the sandbox: %w", err)
	case refused:
		return refusal(errors.New(strings.TrimSpace(reason)))
	}
	// Whatever else went wrong is the image's.
	return nil
}

// RefusedError says that the kernel, or what guards it, refuses a part of the sandbox.
type RefusedError struct {
	// Err is the part and the reason.
	Err error
	// Hint is what would help.
	Hint string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the sandbox cannot run here: %v: %s", e.Err, e.Hint)
}

// Unwrap returns the part and the reason.
func (e *RefusedError) Unwrap() error { return e.Err }
