// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package runner is what evaluates the functions of a command: the command's own process, a function runner that the command
// starts itself, or one that runs elsewhere, a container engine, a sandbox.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/internal/server/certificates"
	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/services/evaluation/remote"
	"github.com/krmfn/krmfn/services/images/reference"
)

// imagePrefixVariable is the environment variable that gives --default-image-prefix another default; kpt reads it too.
const imagePrefixVariable = "KPT_IMAGE_PREFIX"

// porchNames are the names that flags have in Porch's commands.
var porchNames = map[string]string{
	"function-runner":                       "runner",
	"function-runner-address":               "runner",
	"function-runner-grpc-max-message-size": "max-request-body-size",
}

// Flags say what evaluates functions.
type Flags struct {
	// Address is the address of a function runner. Empty means none.
	Address string
	// Limits are the size limits of messages to and from the function runner.
	Limits remote.Limits
	// ImagePrefix is put before images that have no slash.
	ImagePrefix string
	// Package is the directory of a package, whose charts render-helm-chart may read; empty means none. The environment has
	// precedence.
	Package string

	// secure is how the connection to the function runner is secured.
	secure                           certificates.ClientFlags
	builtin, isolate, strictVersions bool
	// chosen are the runtimes that --runtime names.
	chosen []string
	container
	timeout time.Duration
	// program is the process; nil where only an address is asked for.
	program *program.Program
}

// AddFlags adds the flags of commands that evaluate functions.
func AddFlags(p *program.Program, set *pflag.FlagSet) *Flags {
	f := AddAddressFlags(set, "address of a function runner that evaluates the functions, "+AddressForm+" (also --function-runner)")
	f.program = p
	set.StringSliceVar(&f.chosen, "runtime", nil, "comma-separated list of runtimes to try, in this order: builtin, runner, engine (docker, podman or nerdctl, or one of them by name), sandbox (default builtin,engine,sandbox; with --runner, runner); $"+runtimeVariable+" changes the default")
	set.BoolVar(&f.isolate, "isolate", false, "run each function in its own process, in a function runner that the command starts")
	// Scripts may have it from when it was not the default.
	set.BoolVar(&f.builtin, "builtin", false, "evaluate the curated functions in this process, as is the default")
	_ = set.MarkHidden("builtin")
	set.StringVar(&f.ImagePrefix, "default-image-prefix", DefaultPrefix(p), "prefix for images without a slash; $"+imagePrefixVariable+" changes the default")
	set.BoolVar(&f.strictVersions, "strict-versions", false, "refuse tags of other versions than the one that krmfn implements")
	return f
}

// DefaultPrefix returns prefix for images without a slash where no flag says otherwise.
func DefaultPrefix(p *program.Program) string {
	return cmp.Or(p.Getenv(imagePrefixVariable), reference.CatalogPrefix)
}

// AddAddressFlags adds the flags that say how to reach a function runner.
func AddAddressFlags(set *pflag.FlagSet, usage string) *Flags {
	f := &Flags{}
	set.StringVar(&f.Address, "runner", "", usage)
	set.IntVar(&f.Limits.MaxMessageSize, "max-request-body-size", 6<<20, "maximum size of a gRPC message in bytes, in both directions")
	set.Int64Var(&f.Limits.MaxListSize, "max-resource-list-size", 64<<20, "maximum size in bytes of a streamed ResourceList")
	set.DurationVar(&f.timeout, "timeout", 0, "maximum duration of the command; 0 means no limit")
	f.secure.AddTo(set)
	flags.Aliases(set, porchNames)
	return f
}

// Validate returns what is wrong with the flags, as a failure.Usage.
func (f *Flags) Validate() error {
	switch {
	case f.builtin && f.Address != "":
		return failure.Usage(errors.New("--builtin and --runner exclude each other"))
	case f.builtin && f.isolate:
		return failure.Usage(errors.New("--builtin and --isolate exclude each other"))
	case f.isolate && f.Address != "":
		return failure.Usage(errors.New("--isolate and --runner exclude each other: the function runner decides how functions are isolated"))
	case f.strictVersions && f.Address != "":
		return failure.Usage(errors.New("--strict-versions applies only to the curated functions: leave it out with --runner"))
	case f.Limits.MaxMessageSize <= 0:
		return failure.Usage(fmt.Errorf("--max-request-body-size is %d, want more than 0", f.Limits.MaxMessageSize))
	case f.Limits.MaxListSize < int64(f.Limits.MaxMessageSize):
		return failure.Usage(fmt.Errorf("--max-resource-list-size is %d, want at least --max-request-body-size", f.Limits.MaxListSize))
	case f.timeout < 0:
		return failure.Usage(fmt.Errorf("--timeout is %v, want 0 or more", f.timeout))
	}
	return failure.Usage(errors.Join(f.validateRuntimes(), flags.Check(nil, f.secure.Problems(f.Address != "")...), reference.ValidatePrefix(f.ImagePrefix)))
}

// Limit returns a context that ends after --timeout, with a *failure.TimeoutError. It has no deadline: function runners
// would learn of one, and end calls a moment before the command does.
func (f *Flags) Limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.timeout == 0 {
		return context.WithCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(f.timeout, func() { cancel(&failure.TimeoutError{Limit: f.timeout}) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
