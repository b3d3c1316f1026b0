// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package options has the flags of the pod janitor.
package options

import (
	"math"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
	"github.com/krmfn/krmfn/services/server/flags"
	"github.com/krmfn/krmfn/services/server/logging"
)

// Output is where the report of a sweep goes.
type Output string

// The outputs.
const (
	Log   Output = "log"
	Table Output = "table"
	JSON  Output = "json"
)

// Options are the settings of a pod janitor. Each is the value of a flag, which Flags describes.
type Options struct {
	// Namespace is that of the function pods.
	Namespace string
	// SecretName is the name of the pull secret that function runners keep; empty means that none is looked for.
	SecretName string
	// Kubeconfig is a file; empty means the usual places.
	Kubeconfig string
	DryRun     bool
	Output     Output
	Rules      sweep.Rules
	// QPS is how many deletions are made in a second; MaxDeletions is how many in one sweep.
	QPS          float64
	MaxDeletions int
	// Timeout is how long one sweep may take, and Interval the pause between sweeps; with 0 there is one sweep.
	Timeout, Interval time.Duration
	// LogLevel is klog's verbosity, and LogFormat json or text.
	LogLevel  int
	LogFormat string
}

// Flags returns the flags that set o, and sets o to their defaults.
func (o *Options) Flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("pod-janitor", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&o.Namespace, "namespace", "porch-fn-system", "namespace of the function pods")
	f.StringVar(&o.SecretName, "registry-auth-secret-name", "auth-secret", "name of the pull secret that function runners keep, as they have it; empty means that none is looked for")
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig file; empty means KUBECONFIG, the cluster that this runs in, or ~/.kube/config")
	f.BoolVar(&o.Rules.All, "all", false, "delete everything of function runners, used or not, until there has been nothing for --grace: for when they are uninstalled")
	f.BoolVar(&o.DryRun, "dry-run", false, "delete nothing, and show what would be deleted")
	f.StringVar((*string)(&o.Output), "output", "", "where what was done is shown: log, or on the standard output table or json; empty means table with --dry-run, else log")

	r := &o.Rules
	f.DurationVar(&r.Grace, "grace", 5*time.Minute, "how long every object is left alone for certain, and how long a function runner may be late; longer than its --scan-interval")
	f.DurationVar(&r.PodTTL, "pod-ttl", 30*time.Minute, "how long function pods may be idle that do not say so themselves; the function runners' --pod-ttl")
	f.DurationVar(&r.WarmerTTL, "warmer-ttl", time.Hour, "how long pods of the image warmer may take")
	f.DurationVar(&r.SecretTTL, "secret-ttl", 24*time.Hour, "how long the pull secret is kept after a function runner has last renewed it")

	f.Float64Var(&o.QPS, "qps", 5, "deletions in a second")
	f.IntVar(&o.MaxDeletions, "max-deletions", 500, "most deletions of one sweep; what is left waits for the next one")
	f.DurationVar(&o.Timeout, "timeout", 4*time.Minute, "how long one sweep may take")
	f.DurationVar(&o.Interval, "interval", 0, "pause between sweeps, for those who do not run this as a CronJob; 0 means one sweep")
	f.IntVar(&o.LogLevel, "log-level", 2, "0 logs errors, 1 warnings, 2 and 3 one line per object, 4 and more debugging")
	f.StringVar(&o.LogFormat, "log-format", "json", "json or text")
	return f
}

// Parse reads arguments. The error names every flag that is wrong.
func Parse(args []string) (Options, error) {
	var o Options
	flags := o.Flags()
	flags.Usage = func() {}
	if err := flags.Parse(args); err != nil {
		return Options{}, err
	}
	if o.Output == "" {
		o.Output = Log
		if o.DryRun {
			o.Output = Table
		}
	}
	return o, o.validate(flags.Args())
}

// leastSecretTTL leaves a function runner, which renews the pull secret every hour, one more try.
const leastSecretTTL = 2 * time.Hour

// validate names every flag that is wrong.
func (o *Options) validate(args []string) error { return flags.Check(args, o.rules()...) }

func (o *Options) rules() []error {
	const positive = flags.Positive
	r := o.Rules
	return []error{
		flags.That(len(validation.IsDNS1123Label(o.Namespace)) == 0, "namespace", o.Namespace, "the name of a namespace"),
		flags.That(o.SecretName == "" || len(validation.IsDNS1123Subdomain(o.SecretName)) == 0, "registry-auth-secret-name", o.SecretName, "the name of a Secret, or nothing"),
		flags.That(o.Output == Log || o.Output == Table || o.Output == JSON, "output", o.Output, "log, table or json"),
		flags.That(r.Grace > 0, "grace", r.Grace, positive),
		flags.That(r.PodTTL > 0, "pod-ttl", r.PodTTL, positive),
		flags.That(r.WarmerTTL > 0, "warmer-ttl", r.WarmerTTL, positive),
		flags.That(r.SecretTTL >= leastSecretTTL, "secret-ttl", r.SecretTTL, "at least 2h, as function runners renew it every hour"),
		flags.That(o.QPS > 0 && !math.IsInf(o.QPS, 0), "qps", o.QPS, positive),
		flags.That(o.MaxDeletions > 0, "max-deletions", o.MaxDeletions, positive),
		flags.That(o.Timeout > 0, "timeout", o.Timeout, positive),
		flags.That(o.Interval >= 0, "interval", o.Interval, "0 or more"),
		flags.That(!r.All || o.Interval == 0, "interval", o.Interval, "0 with --all"),
		flags.That(o.LogLevel >= 0, "log-level", o.LogLevel, "0 or more"),
		flags.That(o.LogFormat == logging.JSON || o.LogFormat == logging.Text, "log-format", o.LogFormat, "json or text"),
	}
}
