// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/services/images/reference"
)

// imagePrefixVariable is the environment variable that gives --image-prefix another default; kpt reads it too.
const imagePrefixVariable = "KPT_IMAGE_PREFIX"

// runnerFlags say what evaluates functions.
type runnerFlags struct {
	address        string
	builtin        bool
	imagePrefix    string
	strictVersions bool
	maxMessageSize int
	maxListSize    int64
	timeout        time.Duration
}

// addRunnerFlags adds the flags of commands that evaluate functions.
func (c *command) addRunnerFlags(flags *pflag.FlagSet) *runnerFlags {
	f := addAddressFlags(flags, "address of a function runner, host:port; without it an embedded one is started (also --function-runner)")
	prefix := cmp.Or(c.getenv(imagePrefixVariable), reference.CatalogPrefix)
	flags.BoolVar(&f.builtin, "builtin", false, "evaluate the curated functions in this process, without a function runner")
	flags.StringVar(&f.imagePrefix, "image-prefix", prefix, "what is put before images that have no slash; $"+imagePrefixVariable+" changes the default")
	flags.BoolVar(&f.strictVersions, "strict-versions", false, "refuse tags that are not those of the curated function's own version")
	return f
}

// addAddressFlags adds the flags that say how to reach a function runner.
func addAddressFlags(flags *pflag.FlagSet, usage string) *runnerFlags {
	f := &runnerFlags{}
	flags.StringVar(&f.address, "runner", "", usage)
	flags.IntVar(&f.maxMessageSize, "max-request-body-size", 6<<20, "most bytes of one gRPC message, in both directions")
	flags.Int64Var(&f.maxListSize, "max-resource-list-size", 64<<20, "most bytes of a ResourceList that takes several messages")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long the command may take; 0 means without limit")
	flags.SetNormalizeFunc(alias)
	return f
}

// alias knows flags by the names that they have in Porch's commands.
func alias(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "function-runner", "function-runner-address":
		name = "runner"
	case "function-runner-grpc-max-message-size":
		name = "max-request-body-size"
	}
	return pflag.NormalizedName(name)
}

func (f *runnerFlags) validate() error {
	switch {
	case f.builtin && f.address != "":
		return &usageError{errors.New("--builtin and --runner exclude each other")}
	case f.strictVersions && f.address != "":
		return &usageError{errors.New("--strict-versions is about the curated functions: leave it out with --runner")}
	case f.maxMessageSize <= 0:
		return &usageError{fmt.Errorf("--max-request-body-size is %d, want more than 0", f.maxMessageSize)}
	case f.maxListSize < int64(f.maxMessageSize):
		return &usageError{fmt.Errorf("--max-resource-list-size is %d, want at least --max-request-body-size", f.maxListSize)}
	case f.timeout < 0:
		return &usageError{fmt.Errorf("--timeout is %v, want 0 or more", f.timeout)}
	}
	if err := reference.ValidatePrefix(f.imagePrefix); err != nil {
		return &usageError{err}
	}
	return nil
}

// limit returns a context that ends when the time is up that the command may take. It has no deadline: function runners
// would learn of one, and end calls a moment before we know why.
func (f *runnerFlags) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.timeout == 0 {
		return context.WithCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(f.timeout, func() { cancel(&timeoutError{f.timeout}) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// timeoutError says that the command took longer than it may.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("the time is up after %v: raise --timeout", e.limit)
}
