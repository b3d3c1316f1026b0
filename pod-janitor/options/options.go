// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package options has the flags of the pod janitor.
package options

import (
	"math"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/internal/server/logging"
	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
)

// Output is the format of reports.
type Output string

// The formats of reports.
const (
	Log   Output = "log"
	Table Output = "table"
	JSON  Output = "json"
)

// Options are the settings of a pod janitor. Each is the value of a flag, which Flags describes.
type Options struct {
	// Namespace is the namespace of the function pods.
	Namespace string
	// SecretName is the name of the pull secret that function runners maintain. If it is empty, the janitor ignores pull secrets.
	SecretName string
	// Kubeconfig is the path of a kubeconfig file. If it is empty, the usual places are searched.
	Kubeconfig string
	DryRun     bool
	Output     Output
	Rules      sweep.Rules
	// StopDeployments are the Deployments, as NAMESPACE/NAME, that are scaled to 0 before everything is deleted, within StopTimeout.
	StopDeployments []string
	// AwaitPods are the pods, as NAMESPACE/SELECTOR, that must have ended before everything is deleted, within StopTimeout.
	AwaitPods   []string
	StopTimeout time.Duration
	// QPS is the maximum number of deletions per second.
	QPS float64
	// Timeout is the maximum duration of one sweep. Interval is the pause between sweeps; 0 means a single sweep.
	Timeout, Interval time.Duration
	// LogLevel is the verbosity, as in klog. LogFormat is json or text.
	LogLevel  int
	LogFormat string
}

// Flags returns the flags that set o, and sets o to their defaults.
func (o *Options) Flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("pod-janitor", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&o.Namespace, "namespace", "porch-fn-system", "namespace of the function pods")
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "path of a kubeconfig file; empty means KUBECONFIG, the in-cluster configuration, or ~/.kube/config, in this order")
	f.DurationVar(&o.Timeout, "timeout", 4*time.Minute, "maximum duration of one sweep")
	f.DurationVar(&o.Interval, "interval", 0, "pause between sweeps, to run as a Deployment; 0 means a single sweep, for a CronJob")
	f.BoolVar(&o.DryRun, "dry-run", false, "report what would be deleted, and delete nothing")
	f.StringVar((*string)(&o.Output), "format", "", "report format: log, or table or json on standard output; empty means table with --dry-run, and log otherwise")
	flags.Group(f, "Sweeps")

	r := &o.Rules
	f.DurationVar(&r.Grace, "grace", 5*time.Minute, "minimum age of objects to delete, and maximum delay of a function runner; must exceed its --scan-interval")
	f.DurationVar(&r.PodTTL, "pod-ttl", 30*time.Minute, "how long function pods without the annotation krmfn.dev/ttl may be idle; must equal the function runners' --pod-ttl")
	f.DurationVar(&r.WarmerTTL, "warmer-ttl", time.Hour, "maximum age of pods of the image warmer")
	f.StringVar(&o.SecretName, "registry-auth-secret-name", "auth-secret", "name of the pull secret that the function runner maintains in --namespace; empty leaves the pull secret alone")
	flags.Group(f, "Objects")

	f.BoolVar(&r.All, "all", false, "delete everything that function runners created, even if it is in use, until nothing has appeared for --grace; use it to uninstall")
	f.StringArrayVar(&o.StopDeployments, "stop-deployment", nil, "with --all, NAMESPACE/NAME of a Deployment that creates objects, such as the function runners' or the image warmer's: scale it to 0 and wait until its pods have ended before anything is deleted; may be repeated")
	f.StringArrayVar(&o.AwaitPods, "await-pods", nil, "with --all, NAMESPACE/SELECTOR of pods that create objects and that someone else deletes: wait until they have ended, and delete nothing unless they have within --stop-timeout; may be repeated")
	f.DurationVar(&o.StopTimeout, "stop-timeout", 45*time.Second, "how long to wait for the pods of all --stop-deployment and --await-pods")
	flags.Group(f, "Uninstallation")

	f.IntVar(&o.LogLevel, "log-level", 2, "log verbosity: 0 for errors, 1 for warnings, 2 and 3 for one line per object, 4 and above for debugging")
	f.StringVar(&o.LogFormat, "log-format", "json", "log format: json or text")
	flags.Group(f, "Logging")

	f.Float64Var(&o.QPS, "qps", 5, "maximum number of deletions per second")
	flags.Group(f, "Advanced")
	return f
}

// Parse parses a command line. The error names all invalid flags.
func Parse(args []string) (Options, error) {
	var o Options
	set := o.Flags()
	set.Usage = func() {}
	if err := set.Parse(args); err != nil {
		return Options{}, err
	}
	if o.Output == "" {
		o.Output = Log
		if o.DryRun {
			o.Output = Table
		}
	}
	return o, o.validate(set.Args())
}

// validate returns an error that names all invalid flags.
func (o *Options) validate(args []string) error {
	problems := o.rules()
	problems = append(problems, o.stops("stop-deployment", o.StopDeployments, isObject, "NAMESPACE/NAME")...)
	problems = append(problems, o.stops("await-pods", o.AwaitPods, isSelection, "NAMESPACE/SELECTOR")...)
	return flags.Check(args, problems...)
}

// stops validates the values of a flag that requires --all.
func (o *Options) stops(flag string, names []string, valid func(string) bool, want string) (problems []error) {
	for _, name := range names {
		problems = append(problems, flags.That(valid(name), flag, name, want), flags.That(o.Rules.All, flag, name, "none without --all"))
	}
	return problems
}

// isObject reports whether text has the form NAMESPACE/NAME.
func isObject(text string) bool {
	namespace, name, _ := strings.Cut(text, "/")
	return len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
}

// isSelection reports whether text selects pods in a namespace, but not all of them.
func isSelection(text string) bool {
	namespace, text, _ := strings.Cut(text, "/")
	selector, err := labels.Parse(text)
	return err == nil && !selector.Empty() && len(validation.IsDNS1123Label(namespace)) == 0
}

// rules validates the flags that have a single value.
func (o *Options) rules() []error {
	const positive = flags.Positive
	r := o.Rules
	return []error{
		flags.That(len(validation.IsDNS1123Label(o.Namespace)) == 0, "namespace", o.Namespace, "the name of a namespace"),
		flags.That(o.SecretName == "" || len(validation.IsDNS1123Subdomain(o.SecretName)) == 0, "registry-auth-secret-name", o.SecretName, "the name of a Secret, or nothing"),
		flags.That(o.Output == Log || o.Output == Table || o.Output == JSON, "format", o.Output, "log, table or json"),
		flags.That(r.Grace > 0, "grace", r.Grace, positive),
		flags.That(r.PodTTL > 0, "pod-ttl", r.PodTTL, positive),
		flags.That(r.WarmerTTL > 0, "warmer-ttl", r.WarmerTTL, positive),
		flags.That(o.QPS > 0 && !math.IsInf(o.QPS, 0), "qps", o.QPS, positive),
		flags.That(o.Timeout > 0, "timeout", o.Timeout, positive),
		flags.That(o.Interval >= 0, "interval", o.Interval, "0 or more"),
		flags.That(o.StopTimeout > 0, "stop-timeout", o.StopTimeout, positive),
		flags.That(!r.All || o.Interval == 0, "interval", o.Interval, "0 with --all"),
		flags.That(o.LogLevel >= 0, "log-level", o.LogLevel, "0 or more"),
		flags.That(o.LogFormat == logging.JSON || o.LogFormat == logging.Text, "log-format", o.LogFormat, "json or text"),
	}
}
