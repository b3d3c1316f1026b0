// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/krmfn/krmfn/services/server/flags"
)

// The values of --function-configs.
const (
	FunctionConfigsAuto = "auto"
	FunctionConfigsOff  = "off"
)

// validate names every flag that is wrong.
func (o *Options) validate(args []string) error {
	var problems []error
	for name := range strings.SplitSeq(o.DisableRuntimes, ",") {
		switch strings.TrimSpace(name) {
		case "", RuntimeExec, RuntimePod:
		default:
			problems = append(problems, fmt.Errorf("--disable-runtimes names %q, want exec or pod", name))
		}
	}
	if o.Registry.TLS && !o.Registry.Private {
		problems = append(problems, errors.New("--enable-private-registries-tls takes effect only with --enable-private-registries"))
	}
	return flags.Check(args, append(o.rules(), problems...)...)
}

func (o *Options) rules() []error {
	const positive = flags.Positive
	l, p, r := o.Limits, o.Pod, o.Registry
	return []error{
		flags.That(o.Port >= 0 && o.Port <= 65535, "port", o.Port, "0 to 65535"),
		flags.That(o.Log.Level >= 0, "log-level", o.Log.Level, "0 or more"),
		flags.That(o.Log.Format == "json" || o.Log.Format == "text", "log-format", o.Log.Format, "json or text"),
		flags.That(!strings.Contains(o.DefaultImagePrefix, "://") && !strings.ContainsAny(o.DefaultImagePrefix, " ?#"), "default-image-prefix", o.DefaultImagePrefix, "a registry path without a scheme"),
		flags.That(l.MaxMessageSize > 0, "max-request-body-size", l.MaxMessageSize, positive),
		flags.That(l.MaxListSize >= int64(l.MaxMessageSize), "max-resource-list-size", l.MaxListSize, "at least --max-request-body-size"),
		flags.That(l.MaxBytesInFlight >= 0, "max-bytes-in-flight", l.MaxBytesInFlight, "0 or more"),
		flags.That(l.ResultCache.Sign() >= 0, "result-cache-size", l.ResultCache.String(), "0 or more"),
		flags.That(l.MaxEvaluationTime > 0, "max-evaluation-time", l.MaxEvaluationTime, positive),
		flags.That(l.MaxConcurrent > 0, "max-concurrent-evaluations", l.MaxConcurrent, positive),
		flags.That(l.MaxQueued >= 0, "max-queued-evaluations", l.MaxQueued, "0 or more"),
		flags.That(o.StandbyProcesses >= 0, "standby-processes", o.StandbyProcesses, "0 or more"),
		flags.That(o.DrainTimeout > 0, "drain-timeout", o.DrainTimeout, positive),
		flags.That(o.ShutdownDelay >= 0, "shutdown-delay", o.ShutdownDelay, "0 or more"),
		flags.That(validation.IsDNS1123Label(p.Namespace) == nil, "pod-namespace", p.Namespace, "the name of a namespace"),
		flags.That(p.TTL > 0, "pod-ttl", p.TTL, positive),
		flags.That(p.ScanInterval > 0, "scan-interval", p.ScanInterval, positive),
		flags.That(p.Template == "" || validation.IsDNS1123Subdomain(p.Template) == nil, "function-pod-template", p.Template, "the name of a ConfigMap"),
		flags.That(p.MaxWaitlist > 0, "max-waitlist-length", p.MaxWaitlist, positive),
		flags.That(p.MaxPods > 0, "max-parallel-pods-per-function", p.MaxPods, positive),
		flags.That(p.MaxPerPod > 0, "max-concurrent-evaluations-per-pod", p.MaxPerPod, positive),
		flags.That(p.MaxWaiting >= 0, "max-queued-evaluations-per-function", p.MaxWaiting, "0 or more"),
		flags.That(p.ReadyTimeout > 0, "pod-ready-timeout", p.ReadyTimeout, positive),
		oneOf("function-configs", p.FunctionConfigs, FunctionConfigsAuto, FunctionConfigsOff),
		oneOf("pod-frontend", p.Frontend, "auto", "service", "pod-ip"),
		oneOf("wrapper-injection", p.Injection, "auto", "image-volume", "init-container"),
		flags.That(o.Images.TTL > 0, "image-ttl", o.Images.TTL, positive),
		flags.That(validation.IsDNS1123Subdomain(r.AuthSecret) == nil, "registry-auth-secret-name", r.AuthSecret, "the name of a Secret"),
	}
}

func oneOf(flag, value string, values ...string) error {
	return flags.That(slices.Contains(values, value), flag, value, "one of "+strings.Join(values, ", "))
}

// The evaluators that --disable-runtimes knows.
const (
	RuntimeExec = "exec"
	RuntimePod  = "pod"
)

// Enabled tells whether an evaluator is not disabled.
func (o *Options) Enabled(runtime string) bool {
	for name := range strings.SplitSeq(o.DisableRuntimes, ",") {
		if strings.TrimSpace(name) == runtime {
			return false
		}
	}
	return true
}
