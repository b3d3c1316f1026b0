// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/server/flags"
)

// Values of --function-configs.
const (
	FunctionConfigsAuto = "auto"
	FunctionConfigsOff  = "off"
)

// Values of --pod-image-form.
const (
	ImageFormDigest    = "digest"
	ImageFormReference = "reference"
)

// Values of --function-pod-tls.
const (
	PodTLSOff    = "off"
	PodTLSAuto   = "auto"
	PodTLSAlways = "always"
)

// Values of --executable-tags.
const (
	ExecutableTagsOwn        = "own"
	ExecutableTagsCompatible = "compatible"
	ExecutableTagsAll        = "all"
)

// validate returns an error that names every invalid flag.
func (o *Options) validate(args []string) error {
	var problems []error
	for name := range strings.SplitSeq(o.DisableRuntimes, ",") {
		switch strings.TrimSpace(name) {
		case "", RuntimeExec, RuntimePod:
		default:
			problems = append(problems, fmt.Errorf("--disable-runtimes names %q, want exec or pod", name))
		}
	}
	for _, secret := range o.Pod.PullSecrets {
		problems = append(problems, flags.That(validation.IsDNS1123Subdomain(secret) == nil, "image-pull-secret", secret, "the name of a Secret"))
	}
	return flags.Check(args, slices.Concat(o.rules(), problems, o.TLS.Problems(), o.Callers.Problems(&o.TLS))...)
}

func (o *Options) rules() []error {
	const positive = flags.Positive
	l, p, r := o.Limits, o.Pod, o.Registry
	return []error{
		flags.That(o.Port >= 0 && o.Port <= 65535, "port", o.Port, "0 to 65535"),
		flags.That(o.TLS.HealthPort >= 0 && o.TLS.HealthPort <= 65535, "health-port", o.TLS.HealthPort, "0 to 65535"),
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
		flags.That(o.Deployment == "" || validation.IsDNS1123Subdomain(o.Deployment) == nil, "deployment", o.Deployment, "the name of a Deployment"),
		flags.That(validation.IsDNS1123Label(p.Namespace) == nil, "pod-namespace", p.Namespace, "the name of a namespace"),
		flags.That(p.TTL > 0, "pod-ttl", p.TTL, positive),
		flags.That(p.ScanInterval > 0, "scan-interval", p.ScanInterval, positive),
		flags.That(p.Template == "" || validation.IsDNS1123Subdomain(p.Template) == nil, "function-pod-template", p.Template, "the name of a ConfigMap"),
		flags.That(p.MaxWaitlist > 0, "max-waitlist-length", p.MaxWaitlist, positive),
		flags.That(p.MaxPods > 0, "max-parallel-pods-per-function", p.MaxPods, positive),
		flags.That(p.MaxPerPod > 0, "max-concurrent-evaluations-per-pod", p.MaxPerPod, positive),
		flags.That(p.MaxWaiting >= 0, "max-queued-evaluations-per-function", p.MaxWaiting, "0 or more"),
		flags.That(p.MaxWarmUps > 0, "max-parallel-warm-ups", p.MaxWarmUps, positive),
		flags.That(p.ReadyTimeout > 0, "pod-ready-timeout", p.ReadyTimeout, positive),
		oneOf("function-configs", p.FunctionConfigs, FunctionConfigsAuto, FunctionConfigsOff),
		oneOf("pod-frontend", p.Frontend, "auto", "service", "pod-ip"),
		oneOf("wrapper-injection", p.Injection, "auto", "image-volume", "init-container"),
		oneOf("executable-tags", o.Exec.Tags, ExecutableTagsOwn, ExecutableTagsCompatible, ExecutableTagsAll),
		oneOf("pod-image-form", p.ImageForm, ImageFormDigest, ImageFormReference),
		oneOf("function-pod-tls", p.TLS, PodTLSOff, PodTLSAuto, PodTLSAlways),
		flags.That(validation.IsDNS1123Subdomain(p.CASecret) == nil, "function-pod-ca-secret", p.CASecret, "the name of a Secret"),
		flags.That(p.CALifetime > 0, "function-pod-ca-lifetime", p.CALifetime, positive),
		oneOf("pod-user", p.User, functionpod.UserNobody, functionpod.UserAssigned),
		flags.That(o.Images.TTL > 0, "image-ttl", o.Images.TTL, positive),
		flags.That(validation.IsDNS1123Subdomain(r.AuthSecret) == nil, "registry-auth-secret-name", r.AuthSecret, "the name of a Secret"),
	}
}

func oneOf(flag, value string, values ...string) error {
	return flags.That(slices.Contains(values, value), flag, value, "one of "+strings.Join(values, ", "))
}

// Evaluators that --disable-runtimes accepts.
const (
	RuntimeExec = "exec"
	RuntimePod  = "pod"
)

// Enabled reports whether an evaluator is enabled.
func (o *Options) Enabled(runtime string) bool {
	for name := range strings.SplitSeq(o.DisableRuntimes, ",") {
		if strings.TrimSpace(name) == runtime {
			return false
		}
	}
	return true
}
