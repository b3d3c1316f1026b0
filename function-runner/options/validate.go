// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// dnsLabel is what Kubernetes allows as the name of a namespace; dnsName of a ConfigMap or Secret.
var (
	dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	dnsName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
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
	var problems []error
	for _, r := range o.rules() {
		if !r.holds {
			problems = append(problems, fmt.Errorf("--%s is %q, want %s", r.flag, fmt.Sprint(r.value), r.want))
		}
	}
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
	return joinLine(problems)
}

func (o *Options) rules() []rule {
	const positive = "more than 0"
	l, p, r := o.Limits, o.Pod, o.Registry
	return []rule{
		{o.Port >= 0 && o.Port <= 65535, "port", o.Port, "0 to 65535"},
		{o.Log.Level >= 0, "log-level", o.Log.Level, "0 or more"},
		{o.Log.Format == "json" || o.Log.Format == "text", "log-format", o.Log.Format, "json or text"},
		{!strings.Contains(o.DefaultImagePrefix, "://") && !strings.ContainsAny(o.DefaultImagePrefix, " ?#"), "default-image-prefix", o.DefaultImagePrefix, "a registry path without a scheme"},
		{l.MaxMessageSize > 0, "max-request-body-size", l.MaxMessageSize, positive},
		{l.MaxListSize >= int64(l.MaxMessageSize), "max-resource-list-size", l.MaxListSize, "at least --max-request-body-size"},
		{l.MaxEvaluationTime > 0, "max-evaluation-time", l.MaxEvaluationTime, positive},
		{l.MaxConcurrent > 0, "max-concurrent-evaluations", l.MaxConcurrent, positive},
		{l.MaxQueued >= 0, "max-queued-evaluations", l.MaxQueued, "0 or more"},
		{o.DrainTimeout > 0, "drain-timeout", o.DrainTimeout, positive},
		{dnsLabel.MatchString(p.Namespace), "pod-namespace", p.Namespace, "the name of a namespace"},
		{p.TTL > 0, "pod-ttl", p.TTL, positive},
		{p.ScanInterval > 0, "scan-interval", p.ScanInterval, positive},
		{p.Template == "" || dnsName.MatchString(p.Template), "function-pod-template", p.Template, "the name of a ConfigMap"},
		{p.MaxWaitlist > 0, "max-waitlist-length", p.MaxWaitlist, positive},
		{p.MaxPods > 0, "max-parallel-pods-per-function", p.MaxPods, positive},
		{dnsName.MatchString(r.AuthSecret), "registry-auth-secret-name", r.AuthSecret, "the name of a Secret"},
	}
}

// joinLine makes one error of one line.
func joinLine(problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.Error()
	}
	return errors.New(strings.Join(texts, "; "))
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
