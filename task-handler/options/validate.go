// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"

	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/server/flags"
)

// validate names every flag that is wrong.
func (o *Options) validate(args []string) error {
	var nothing error
	if o.FunctionRunner == "" && !o.Builtin {
		nothing = errors.New("nothing is there to evaluate functions: name a --function-runner, or leave --builtin-functions on")
	}
	return flags.Check(args, o.rules(), nothing)
}

func (o *Options) rules() []flags.Rule {
	const positive = flags.Positive
	l := o.Limits
	return []flags.Rule{
		flags.That(o.Port >= 0 && o.Port <= 65535, "port", o.Port, "0 to 65535"),
		flags.That(reference.ValidatePrefix(o.DefaultImagePrefix) == nil, "default-image-prefix", o.DefaultImagePrefix, "a registry path without a scheme"),
		flags.That(o.LogLevel >= 0, "log-level", o.LogLevel, "0 or more"),
		flags.That(o.LogFormat == "json" || o.LogFormat == "text", "log-format", o.LogFormat, "json or text"),
		flags.That(l.MaxMessageSize > 0, "max-request-body-size", l.MaxMessageSize, positive),
		flags.That(l.MaxListSize >= int64(l.MaxMessageSize), "max-resource-list-size", l.MaxListSize, "at least --max-request-body-size"),
		flags.That(l.MaxPackageSize >= int64(l.MaxMessageSize), "max-package-size", l.MaxPackageSize, "at least --max-request-body-size"),
		flags.That(l.MaxPackageFiles > 0, "max-package-files", l.MaxPackageFiles, positive),
		flags.That(l.MaxRenderTime > 0, "max-render-time", l.MaxRenderTime, positive),
		flags.That(l.MaxConcurrent > 0, "max-concurrent-renders", l.MaxConcurrent, positive),
		flags.That(l.MaxQueued >= 0, "max-queued-renders", l.MaxQueued, "0 or more"),
		flags.That(l.MaxParallelPackages > 0, "max-parallel-packages", l.MaxParallelPackages, positive),
		flags.That(o.DrainTimeout > 0, "drain-timeout", o.DrainTimeout, positive),
		flags.That(o.ShutdownDelay >= 0, "shutdown-delay", o.ShutdownDelay, "0 or more"),
	}
}
