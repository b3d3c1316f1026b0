// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package options defines the flags of the task handler. Flags of Porch's server keep their names, meanings and defaults.
package options

import (
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/internal/server/callers"
	"github.com/krmfn/krmfn/internal/server/certificates"
	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/services/images/reference"
)

// porchNames maps names of flags in Porch's documentation to the names of the same flags here.
var porchNames = map[string]string{
	"function-runner-address":               "function-runner",
	"function-runner-grpc-max-message-size": "max-request-body-size",
}

// Options are the settings of a task handler.
type Options struct {
	// Port is the TCP port to listen on, on all interfaces; 0 means any free port.
	Port int
	// FunctionRunner is the address of the function runner; empty means none.
	FunctionRunner string
	// Runner secures the connection to the function runner.
	Runner certificates.ClientFlags
	// TLS secures connections to this server. Callers selects who may call it.
	TLS     certificates.ServerFlags
	Callers callers.Flags
	// Builtin enables the evaluation of curated functions: plain ones in this process, others in processes.
	Builtin bool
	// DefaultImagePrefix is the prefix for images without a slash.
	DefaultImagePrefix string
	// LogLevel is the verbosity, as in klog: 0 errors, 1 warnings, 2 and 3 one line per render, 4 and above debugging.
	LogLevel int
	// LogFormat is json or text.
	LogFormat string
	// LogFailureReasons logs the first line of the error of a package that does not render.
	LogFailureReasons bool
	// Limits limit calls.
	Limits Limits
	// DrainTimeout is the maximum time for running calls to finish during shutdown.
	DrainTimeout time.Duration
	// ShutdownDelay is the time during which the server still accepts new calls after shutdown begins.
	ShutdownDelay time.Duration
}

// Limits limit the sizes, durations and numbers of calls.
type Limits struct {
	// MaxMessageSize is the maximum size in bytes of a message of a caller or the function runner, in both directions.
	MaxMessageSize int
	// MaxListSize is the maximum size in bytes of a ResourceList that the function runner streams, or that a function's process writes.
	MaxListSize int64
	// MaxPackageSize is the maximum size in bytes of a streamed package. MaxPackageFiles is the maximum number of files in a package.
	MaxPackageSize  int64
	MaxPackageFiles int
	// MaxBytesInFlight is the maximum total size in bytes of the packages of all calls; 0 means a share of the memory. A package of many small
	// resources counts up to four times its size.
	MaxBytesInFlight int64
	// MaxRenderTime is the maximum duration of a render, including the time in the queue.
	MaxRenderTime time.Duration
	// MaxConcurrent is the maximum number of concurrent renders. MaxQueued is the maximum number of renders that wait.
	MaxConcurrent, MaxQueued int
	// MaxParallelPackages is the maximum number of packages that one render processes concurrently.
	MaxParallelPackages int
}

// Flags returns the flags that set o, and sets o to their defaults.
func (o *Options) Flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("task-handler", pflag.ContinueOnError)
	f.SortFlags = false
	flags.Aliases(f, porchNames)
	o.serverFlags(f)
	flags.Group(f, "Server")
	o.renderFlags(f)
	flags.Group(f, "Rendering")
	f.StringVar(&o.FunctionRunner, "function-runner", "", "address of the function runner, host:port; calls are spread over all addresses of the host name; empty means none (also --function-runner-address)")
	o.Runner.AddTo(f)
	flags.Group(f, "Function runner")
	o.TLS.AddTo(f)
	flags.Group(f, "TLS")
	o.Callers.AddTo(f)
	flags.Group(f, "Callers")
	f.IntVar(&o.LogLevel, "log-level", 2, "log verbosity: 0 for errors, 1 for warnings, 2 and 3 for one line per render, 4 and above for debugging")
	f.StringVar(&o.LogFormat, "log-format", "json", "log format: json or text")
	f.BoolVar(&o.LogFailureReasons, "log-failure-reasons", false, "log the first line of the error of a package that does not render, which may quote the package")
	flags.Group(f, "Logging")
	f.Int64Var(&o.Limits.MaxBytesInFlight, "max-bytes-in-flight", 0, "maximum total size in bytes of the packages of all calls; up to a thousand further calls wait in order; 0 means 1/40 of the heap limit, which is GOMEMLIMIT or 60% of the cgroup's memory limit, 90% without --builtin-functions")
	flags.Group(f, "Advanced")
	return f
}

func (o *Options) serverFlags(f *pflag.FlagSet) {
	l := &o.Limits
	f.IntVar(&o.Port, "port", 9447, "port to listen on, on all interfaces; 0 means any free port")
	f.IntVar(&l.MaxMessageSize, "max-request-body-size", 6<<20, "maximum size of a gRPC message in bytes, in both directions; must equal the function runner's (also --function-runner-grpc-max-message-size)")
	f.Int64Var(&l.MaxListSize, "max-resource-list-size", 64<<20, "maximum size in bytes of a ResourceList that the function runner streams, or that a function's process writes")
	f.Int64Var(&l.MaxPackageSize, "max-package-size", 64<<20, "maximum total size in bytes of the files of a streamed package")
	f.IntVar(&l.MaxPackageFiles, "max-package-files", 10000, "maximum number of files in a package")
	f.DurationVar(&o.DrainTimeout, "drain-timeout", 25*time.Second, "how long to wait for running calls after --shutdown-delay")
	f.DurationVar(&o.ShutdownDelay, "shutdown-delay", 3*time.Second, "how long to accept new calls after SIGTERM, while Kubernetes removes the replica from its Service")
}

func (o *Options) renderFlags(f *pflag.FlagSet) {
	l := &o.Limits
	f.BoolVar(&o.Builtin, "builtin-functions", true, "evaluate curated functions here: plain ones in the task handler's process, and those that run scripts, policies, patterns or templates in processes of the executable functions in the same directory; the function runner evaluates all other functions and versions")
	f.StringVar(&o.DefaultImagePrefix, "default-image-prefix", reference.CatalogPrefix+"/", "prefix for images without a slash")
	f.DurationVar(&l.MaxRenderTime, "max-render-time", 10*time.Minute, "maximum duration of a render, including the time in the queue")
	f.IntVar(&l.MaxConcurrent, "max-concurrent-renders", 4*runtime.GOMAXPROCS(0), "maximum number of packages that render at once")
	f.Lookup("max-concurrent-renders").DefValue = "4 per CPU"
	f.IntVar(&l.MaxQueued, "max-queued-renders", 100, "maximum number of calls in the queue; further calls fail")
	f.IntVar(&l.MaxParallelPackages, "max-parallel-packages", 4, "maximum number of independent sub-packages of a package that render at once")
}

// Parse reads arguments. The error names every flag that is wrong.
func Parse(args []string) (Options, error) {
	var o Options
	set := o.Flags()
	set.Usage = func() {}
	if err := set.Parse(args); err != nil {
		return Options{}, err
	}
	var nothing error
	if o.FunctionRunner == "" && !o.Builtin {
		nothing = errors.New("there is no evaluator: set --function-runner, or do not disable --builtin-functions")
	}
	return o, flags.Check(set.Args(), slices.Concat(o.rules(), []error{nothing}, o.Runner.Problems(o.FunctionRunner != ""), o.TLS.Problems(), o.Callers.Problems(&o.TLS))...)
}

func (o *Options) rules() []error {
	const positive = flags.Positive
	l := o.Limits
	return []error{
		flags.That(o.Port >= 0 && o.Port <= 65535, "port", o.Port, "0 to 65535"),
		flags.That(o.TLS.HealthPort >= 0 && o.TLS.HealthPort <= 65535, "health-port", o.TLS.HealthPort, "0 to 65535"),
		flags.That(reference.ValidatePrefix(o.DefaultImagePrefix) == nil, "default-image-prefix", o.DefaultImagePrefix, "a registry path without a scheme"),
		flags.That(o.LogLevel >= 0, "log-level", o.LogLevel, "0 or more"),
		flags.That(o.LogFormat == "json" || o.LogFormat == "text", "log-format", o.LogFormat, "json or text"),
		flags.That(l.MaxMessageSize > 0, "max-request-body-size", l.MaxMessageSize, positive),
		flags.That(l.MaxListSize >= int64(l.MaxMessageSize), "max-resource-list-size", l.MaxListSize, "at least --max-request-body-size"),
		flags.That(l.MaxPackageSize >= int64(l.MaxMessageSize), "max-package-size", l.MaxPackageSize, "at least --max-request-body-size"),
		flags.That(l.MaxPackageFiles > 0, "max-package-files", l.MaxPackageFiles, positive),
		flags.That(l.MaxBytesInFlight >= 0, "max-bytes-in-flight", l.MaxBytesInFlight, "0 or more"),
		flags.That(l.MaxRenderTime > 0, "max-render-time", l.MaxRenderTime, positive),
		flags.That(l.MaxConcurrent > 0, "max-concurrent-renders", l.MaxConcurrent, positive),
		flags.That(l.MaxQueued >= 0, "max-queued-renders", l.MaxQueued, "0 or more"),
		flags.That(l.MaxParallelPackages > 0, "max-parallel-packages", l.MaxParallelPackages, positive),
		flags.That(o.DrainTimeout > 0, "drain-timeout", o.DrainTimeout, positive),
		flags.That(o.ShutdownDelay >= 0, "shutdown-delay", o.ShutdownDelay, "0 or more"),
	}
}
