// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package runner is what evaluates the functions of a command: the command's own process, a function runner that the command
// starts itself, or one that runs elsewhere.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/runtime"
	"github.com/krmfn/krmfn/services/server/flags"
)

// imagePrefixVariable is the environment variable that gives --image-prefix another default; kpt reads it too.
const imagePrefixVariable = "KPT_IMAGE_PREFIX"

// porchNames are the names that flags have in Porch's commands.
var porchNames = map[string]string{
	"function-runner":                       "runner",
	"function-runner-address":               "runner",
	"function-runner-grpc-max-message-size": "max-request-body-size",
}

// Flags say what evaluates functions.
type Flags struct {
	// Address is that of a function runner; empty means none.
	Address string
	// Limits are those of messages to and from the function runner.
	Limits runtime.Limits
	// ImagePrefix is put before images that have no slash.
	ImagePrefix string

	builtin, isolate, strictVersions bool
	timeout                          time.Duration
}

// AddFlags adds the flags of commands that evaluate functions.
func AddFlags(p *program.Program, set *pflag.FlagSet) *Flags {
	f := AddAddressFlags(set, "address of a function runner that evaluates the functions, host:port (also --function-runner)")
	prefix := cmp.Or(p.Getenv(imagePrefixVariable), reference.CatalogPrefix)
	set.BoolVar(&f.isolate, "isolate", false, "evaluate each function in a process of its own, by a function runner that is started for it")
	// Scripts may have it from when it was not the default.
	set.BoolVar(&f.builtin, "builtin", false, "evaluate the curated functions in this process, as is the default")
	_ = set.MarkHidden("builtin")
	set.StringVar(&f.ImagePrefix, "image-prefix", prefix, "what is put before images that have no slash; $"+imagePrefixVariable+" changes the default")
	set.BoolVar(&f.strictVersions, "strict-versions", false, "refuse tags that are not those of the curated function's own version")
	return f
}

// AddAddressFlags adds the flags that say how to reach a function runner.
func AddAddressFlags(set *pflag.FlagSet, usage string) *Flags {
	f := &Flags{}
	set.StringVar(&f.Address, "runner", "", usage)
	set.IntVar(&f.Limits.MaxMessageSize, "max-request-body-size", 6<<20, "most bytes of one gRPC message, in both directions")
	set.Int64Var(&f.Limits.MaxListSize, "max-resource-list-size", 64<<20, "most bytes of a ResourceList that takes several messages")
	set.DurationVar(&f.timeout, "timeout", 0, "how long the command may take; 0 means without limit")
	flags.Aliases(set, porchNames)
	return f
}

// AddContainerFlags adds the flags by which kpt tells a container engine how to run functions. They have no effect:
// functions are isolated as the function runner does it. name is the flag that lets functions use the network.
func AddContainerFlags(set *pflag.FlagSet, network *bool, name string) {
	policy := pullPolicy("IfNotPresent")
	set.Var(&policy, "image-pull-policy", "Always, IfNotPresent or Never; without effect, as the function runner pulls images")
	set.BoolVar(network, name, false, "accepted for kpt's sake; without effect, as the function runner decides what functions may reach")
}

// pullPolicy is the value of --image-pull-policy, which is checked as kpt does.
type pullPolicy string

func (p *pullPolicy) String() string { return string(*p) }

// Type returns what stands for the value in the help.
func (p *pullPolicy) Type() string { return "string" }

// Set takes one of the three policies, in any case.
func (p *pullPolicy) Set(value string) error {
	for _, policy := range []string{"Always", "IfNotPresent", "Never"} {
		if strings.EqualFold(policy, value) {
			*p = pullPolicy(policy)
			return nil
		}
	}
	return errors.New("must be one of: Always, IfNotPresent, Never")
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
		return failure.Usage(errors.New("--strict-versions is about the curated functions: leave it out with --runner"))
	case f.Limits.MaxMessageSize <= 0:
		return failure.Usage(fmt.Errorf("--max-request-body-size is %d, want more than 0", f.Limits.MaxMessageSize))
	case f.Limits.MaxListSize < int64(f.Limits.MaxMessageSize):
		return failure.Usage(fmt.Errorf("--max-resource-list-size is %d, want at least --max-request-body-size", f.Limits.MaxListSize))
	case f.timeout < 0:
		return failure.Usage(fmt.Errorf("--timeout is %v, want 0 or more", f.timeout))
	}
	return failure.Usage(reference.ValidatePrefix(f.ImagePrefix))
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
