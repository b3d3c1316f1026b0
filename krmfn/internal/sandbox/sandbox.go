// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package sandbox runs the program of a function image without a container engine, on Linux, as an unprivileged user or as root. The
// function gets its own namespaces (user, mount, PID, network, IPC, UTS), the image as a read-only root file system, and a /tmp of
// limited size. It has no network except loopback, no capabilities and no new privileges. System calls are limited to Docker's default
// profile, resources by rlimits, and file access by Landlock if the kernel supports it. Each call is one process. After it has exited,
// no process of the sandbox remains.
//
// The package uses Docker's seccomp profile, go-seccomp-bpf and go-landlock. It joins them with golang.org/x/sys/unix instead of runc's
// libcontainer. libcontainer enters namespaces in C, which a static program built without a C compiler cannot contain. It also needs
// the runc program, or a copy of it, for each container, and setuid tools (newuidmap) for features that this package does not need.
//
// A program that imports this package is also the first process of each sandbox: it executes itself, at the path that os.Executable
// returns.
//
// Limitations: all files of the image belong to one user, the function's, so a function cannot change its user. Private memory is
// limited for each process instead of for the whole call. Shared memory is available only through files in /tmp and /dev/shm.
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

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/krmfn/internal/images/unpacked"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Limits are the limits of a function. Zero values mean the defaults.
type Limits struct {
	// Memory is the maximum private memory of each process, in bytes. The default is 4 GiB.
	Memory int64
	// Tmp is the maximum size of /tmp, and of each file, in bytes. The default is 256 MiB.
	Tmp int64
	// Processes is the maximum number of processes and threads. The default is 512.
	Processes int64
	// Files is the maximum number of open files of each process. The default is 4096.
	Files int64
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Memory: cmp.Or(l.Memory, 4<<30), Tmp: cmp.Or(l.Tmp, 256<<20),
		Processes: cmp.Or(l.Processes, 512), Files: cmp.Or(l.Files, 4096),
	}
}

// Images returns unpacked images. Evaluate returns its errors.
type Images interface {
	Image(ctx context.Context, ref string) (unpacked.Image, error)
}

// Evaluator evaluates functions by running their images. It is safe for concurrent use.
type Evaluator struct {
	images  Images
	runner  process.Processes
	sandbox *sandbox

	mu sync.Mutex
	// permitted means that a function has run, so the kernel permits sandboxes.
	permitted bool
	// ran contains the IDs of images that have run.
	ran map[string]bool
}

// New returns an evaluator. It returns an error if this operating system has no sandboxes.
func New(images Images, runner process.Processes, limits Limits) (*Evaluator, error) {
	s, err := newSandbox(limits.withDefaults())
	if err != nil {
		return nil, err
	}
	return &Evaluator{images: images, runner: runner, sandbox: s, ran: map[string]bool{}}, nil
}

// Evaluate runs the image's command once. Errors are *RefusedError, those of Images, or the context's cause.
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

// first reports whether an image has not run yet. Most functions run once in a render, so a standby process is started only after the
// second call.
func (e *Evaluator) first(image unpacked.Image) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.ran[image.ID]
	e.ran[image.ID] = true
	return first
}

// confirm returns an error if the evaluation failed because the kernel does not permit sandboxes. The report alone is no proof, because
// the function may have written the message. Therefore confirm checks again without the function.
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

// check checks whether the kernel permits sandboxes. It does not run the function.
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
	// Other failures are caused by the image.
	return nil
}

// RefusedError reports that the kernel, or a security module, refuses a part of the sandbox.
type RefusedError struct {
	// Err names the part and the cause.
	Err error
	// Hint says how to permit it.
	Hint string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the sandbox cannot run here: %v: %s", e.Err, e.Hint)
}

// Unwrap returns Err.
func (e *RefusedError) Unwrap() error { return e.Err }
