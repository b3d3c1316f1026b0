// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"strings"

	"github.com/krmfn/krmfn/services/image"
)

// rule is one thing that must hold.
type rule struct {
	holds bool
	flag  string
	value any
	want  string
}

// validate checks all settings and names every flag that is wrong, so that one start tells all.
func (o *Options) validate(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	var problems []string
	for _, r := range o.rules() {
		if !r.holds {
			problems = append(problems, fmt.Sprintf("--%s is %q, want %s", r.flag, fmt.Sprint(r.value), r.want))
		}
	}
	if o.FunctionRunner == "" && !o.Builtin {
		problems = append(problems, "nothing is there to evaluate functions: name a --function-runner, or leave --builtin-functions on")
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

func (o *Options) rules() []rule {
	const positive = "more than 0"
	l := o.Limits
	return []rule{
		{o.Port >= 0 && o.Port <= 65535, "port", o.Port, "0 to 65535"},
		{image.ValidatePrefix(o.DefaultImagePrefix) == nil, "default-image-prefix", o.DefaultImagePrefix, "a registry path without a scheme"},
		{o.LogLevel >= 0, "log-level", o.LogLevel, "0 or more"},
		{o.LogFormat == "json" || o.LogFormat == "text", "log-format", o.LogFormat, "json or text"},
		{l.MaxMessageSize > 0, "max-request-body-size", l.MaxMessageSize, positive},
		{l.MaxListSize >= int64(l.MaxMessageSize), "max-resource-list-size", l.MaxListSize, "at least --max-request-body-size"},
		{l.MaxPackageSize >= int64(l.MaxMessageSize), "max-package-size", l.MaxPackageSize, "at least --max-request-body-size"},
		{l.MaxPackageFiles > 0, "max-package-files", l.MaxPackageFiles, positive},
		{l.MaxRenderTime > 0, "max-render-time", l.MaxRenderTime, positive},
		{l.MaxConcurrent > 0, "max-concurrent-renders", l.MaxConcurrent, positive},
		{l.MaxQueued >= 0, "max-queued-renders", l.MaxQueued, "0 or more"},
		{l.MaxParallelPackages > 0, "max-parallel-packages", l.MaxParallelPackages, positive},
		{o.DrainTimeout > 0, "drain-timeout", o.DrainTimeout, positive},
	}
}
