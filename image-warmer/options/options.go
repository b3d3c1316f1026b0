// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package options has the flags of the image warmer. Those that the function runner has, too, have the same names, meanings
// and defaults there.
package options

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/cluster/injection"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/server/flags"
)

// The values of --format.
const (
	OutputTable = "table"
	OutputJSON  = "json"
)

// Options are the settings of one run. Each is the value of a flag, which Flags describes.
type Options struct {
	Sources Sources
	// DefaultImagePrefix is put before images without a slash, and then Rewrites replace prefixes.
	DefaultImagePrefix string
	Rewrites           reference.Rewrites
	// Policy is a file that says which images may be warmed; "" permits all.
	Policy string
	// IgnoreFailures has the exit code be 0 though images have failed.
	IgnoreFailures bool
	// Namespace is that of the function pods and of FunctionConfig objects.
	Namespace string
	// Kubeconfig is a file; empty means the usual places.
	Kubeconfig string
	Resolve    struct {
		// Parallel is how many images are asked for at once, and Timeout the most time for one.
		Parallel int
		Timeout  time.Duration
		// Jitter is the most time that passes before the first one; how much is chance.
		Jitter time.Duration
	}
	Registry struct {
		// Private turns on credentials from AuthPath, a docker config file; nodes pull with the Secret AuthSecret.
		Private              bool
		AuthPath, AuthSecret string
		// TLS turns on the CA certificates in the directory TLSPath.
		TLS     bool
		TLSPath string
	}
	Metadata struct {
		// ConfigMap and Namespace name a ConfigMap; without a name there is none. An empty namespace is the pod's own.
		ConfigMap, Namespace string
		// File takes the place of the ConfigMap; "-" is standard output.
		File string
	}
	// Prepull says whether and how nodes are made to pull, with the Secret of private registries besides its PullSecrets.
	Prepull struct {
		Enabled bool
		Pulls
	}
	// Output is OutputTable or OutputJSON.
	Output string
	// DryRun asks and writes nothing.
	DryRun bool
	// Timeout is the most time for one run: what is left by then fails.
	Timeout time.Duration
	// Watch has runs follow each other: for all nodes each Interval, and for nodes that join when they do.
	Watch    bool
	Interval time.Duration
	Log      struct {
		// Level is klog's verbosity, and Format json or text.
		Level  int
		Format string
	}
}

// Sources are where images are named; those that are empty do not count.
type Sources struct {
	// Images are references, short names among them.
	Images []string
	// PodCacheConfig is a file as function runners have it, and Kptfiles are directories with packages.
	PodCacheConfig string
	Kptfiles       []string
	// FunctionConfigs has the FunctionConfig objects of a namespace count.
	FunctionConfigs bool
}

// Pulls say how nodes are made to pull.
type Pulls struct {
	// WrapperImage is the image of the wrapper server, and Injection how it is brought together with an image. With
	// injection.Auto the cluster is asked, and where image volumes do not work all the same, init containers take their place.
	WrapperImage string
	Injection    injection.Method
	// NodeSelector and Tolerations choose the nodes; an empty selector chooses all.
	NodeSelector string
	Tolerations  []corev1.Toleration
	// User is functionpod.UserNobody or functionpod.UserAssigned.
	User string
	// PullSecrets are names of Secrets in the namespace.
	PullSecrets []string
	// MaxParallel is how many pulls run at once, and MaxPerNode how many on one node; both at least 1.
	MaxParallel, MaxPerNode int
	// Timeout is the most time that one pull may take. The kubelet ends a pod then whose maker has gone.
	Timeout time.Duration
}

// Flags returns the flags that set o, and sets o to their defaults.
func (o *Options) Flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("image-warmer", pflag.ContinueOnError)
	f.SortFlags = false
	s, m := &o.Sources, &o.Metadata
	f.StringArrayVar(&s.Images, "image", nil, "image to warm, as callers name it; repeatable; equivalent to an argument")
	f.StringVar(&s.PodCacheConfig, "pod-cache-config", "", "path of the function runner's file with settings of functions; warms the image of each")
	f.BoolVar(&s.FunctionConfigs, "function-configs", false, "warm the images of FunctionConfig objects in --namespace")
	f.StringArrayVar(&s.Kptfiles, "kptfiles", nil, "directory with packages at any depth; warms the images of their pipelines; repeatable")
	f.StringVar(&o.DefaultImagePrefix, "default-image-prefix", reference.CatalogPrefix+"/", "prefix for images without a slash")
	f.Var(&o.Rewrites, "image-rewrite", "rule FROM=TO that replaces the prefix FROM of images by TO, for example a mirror's; repeatable; must equal the function runner's")
	f.StringVar(&o.Policy, "image-policy", "", "path of the function runner's image policy; skips other images; empty permits all images")
	f.StringVar(&o.Namespace, "namespace", "porch-fn-system", "namespace of the function pods, in which the pods that pull are created")
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "path of a kubeconfig file; empty means KUBECONFIG, the in-cluster configuration, or ~/.kube/config, in this order")
	f.BoolVar(&o.DryRun, "dry-run", false, "report what would be done, and change nothing")
	f.BoolVar(&o.IgnoreFailures, "ignore-failures", false, "exit with 0 even if images failed; the report and the log show the failures")
	f.DurationVar(&o.Timeout, "timeout", time.Hour, "maximum duration of one run, after --jitter; what is left by then fails")
	f.BoolVar(&o.Watch, "watch", false, "keep running: warm at the start, again each --interval, and nodes that join or recover at once")
	f.DurationVar(&o.Interval, "interval", 6*time.Hour, "with --watch, time between two runs for all images and nodes; failures are retried after a minute, then less and less often up to this interval")
	f.StringVar(&o.Output, "format", "table", "format of the report on standard output: table or json")
	f.IntVar(&o.Log.Level, "log-level", 1, "log verbosity: 0 for errors, 1 for warnings, 2 and 3 for one line per image and pull, 4 and above for debugging")
	f.StringVar(&o.Log.Format, "log-format", "text", "log format: json or text")

	f.IntVar(&o.Resolve.Parallel, "max-parallel-lookups", 4, "maximum number of images to look up in parallel")
	f.DurationVar(&o.Resolve.Timeout, "lookup-timeout", 30*time.Second, "timeout for looking up one image")
	f.DurationVar(&o.Resolve.Jitter, "jitter", 0, "maximum random delay before the first lookup, so that many clusters do not ask a registry at once")
	o.registryFlags(f)

	f.StringVar(&m.ConfigMap, "metadata-configmap", "krmfn-image-metadata", "name of the ConfigMap to write metadata to, for function runners to mount; empty means none")
	f.StringVar(&m.Namespace, "metadata-namespace", "", "namespace of --metadata-configmap; empty means the pod's own namespace, or porch-system outside a cluster")
	f.StringVar(&m.File, "metadata-file", "", "path of a file to write metadata to instead of a ConfigMap; - means standard output, and moves the report to standard error")
	o.prepullFlags(f)
	return f
}

func (o *Options) registryFlags(f *pflag.FlagSet) {
	r := &o.Registry
	f.BoolVar(&r.Private, "enable-private-registries", false, "use the credentials in --registry-auth-secret-path, and pull with the Secret --registry-auth-secret-name")
	f.StringVar(&r.AuthPath, "registry-auth-secret-path", "/var/tmp/config-secret/.dockerconfigjson", "path of a Docker config file with registry credentials")
	f.StringVar(&r.AuthSecret, "registry-auth-secret-name", "auth-secret", "name of the pull secret that function runners maintain in --namespace")
	f.BoolVar(&r.TLS, "enable-private-registries-tls", false, "trust the CA certificates in --tls-secret-path")
	f.StringVar(&r.TLSPath, "tls-secret-path", "/var/tmp/tls-secret/", "directory that contains ca.crt or ca.pem")
}

func (o *Options) prepullFlags(f *pflag.FlagSet) {
	p := &o.Prepull
	f.BoolVar(&p.Enabled, "prepull", false, "pull the images on every node; enabled by default inside a cluster")
	f.StringVar(&p.WrapperImage, "wrapper-image", "", "image of the wrapper server; empty means the value of the environment variable "+wrapperImageVariable)
	f.StringVar((*string)(&p.Injection), "wrapper-injection", string(injection.Auto), "how a pod makes its node pull: image-volume mounts the image and runs nothing of it, init-container copies the wrapper server into a container of the image, auto chooses by what the cluster supports")
	f.StringVar(&p.NodeSelector, "node-selector", "", "label selector of the nodes that pull, as in kubectl; empty means all nodes")
	f.Var(&tolerations{all: &p.Tolerations}, "toleration", "taint to tolerate, key[=value][:effect]; repeatable")
	f.StringArrayVar(&p.PullSecrets, "image-pull-secret", nil, "name of a pull secret in --namespace; repeatable")
	f.StringVar(&p.User, "pod-user", functionpod.UserNobody, "user of the pods by which nodes pull: nobody, which is 65534, or assigned, which leaves the choice to the cluster, as OpenShift requires")
	f.IntVar(&p.MaxParallel, "max-parallel-pulls", 4, "maximum number of pulls in parallel")
	f.IntVar(&p.MaxPerNode, "max-parallel-pulls-per-node", 1, "maximum number of pulls in parallel on one node; by default, a kubelet pulls one image at a time")
	f.DurationVar(&p.Timeout, "pull-timeout", 10*time.Minute, "timeout of one pull; pods of earlier runs that are older are deleted")
}

const (
	// wrapperImageVariable names the image of the wrapper server, as for the function runner.
	wrapperImageVariable = "WRAPPER_SERVER_IMAGE"
	// inClusterVariable is in the environment of every pod.
	inClusterVariable = "KUBERNETES_SERVICE_HOST"
)

// Parse reads arguments, which are images besides flags, and what of the environment they leave open. The error names every
// flag that is wrong; it is pflag.ErrHelp where help is asked for.
func Parse(args, environ []string) (Options, error) {
	var o Options
	set := o.Flags()
	set.Usage = func() {}
	if err := set.Parse(args); err != nil {
		return Options{}, err
	}
	o.Sources.Images = append(o.Sources.Images, set.Args()...)
	if !set.Changed("prepull") {
		o.Prepull.Enabled = flags.Getenv(environ, inClusterVariable) != ""
	}
	if o.Prepull.WrapperImage == "" {
		o.Prepull.WrapperImage = flags.Getenv(environ, wrapperImageVariable)
	}
	return o, o.validate()
}

// NeedsCluster tells whether a cluster is asked, or written to.
func (o *Options) NeedsCluster() bool {
	return o.Prepull.Enabled || o.Sources.FunctionConfigs || o.Publishes()
}

// Publishes tells whether metadata goes to a ConfigMap.
func (o *Options) Publishes() bool { return o.Metadata.File == "" && o.Metadata.ConfigMap != "" }

// validate names every flag that is wrong.
func (o *Options) validate() error {
	var problems []error
	s := &o.Sources
	if len(s.Images) == 0 && s.PodCacheConfig == "" && !s.FunctionConfigs && len(s.Kptfiles) == 0 {
		problems = append(problems, errors.New("no images are given: name images, or use --pod-cache-config, --function-configs or --kptfiles"))
	}
	if o.Prepull.Enabled {
		problems = append(problems, o.prepullProblems()...)
	}
	return flags.Check(nil, append(o.rules(), problems...)...)
}

func (o *Options) prepullProblems() []error {
	var problems []error
	p := &o.Prepull
	if p.WrapperImage == "" {
		problems = append(problems, fmt.Errorf("--wrapper-image or the environment variable %s must name the wrapper server's image: set one, or disable pulls with --prepull=false", wrapperImageVariable))
	} else if err := reference.Validate(p.WrapperImage); err != nil {
		problems = append(problems, fmt.Errorf("--wrapper-image: %w", err))
	}
	if _, err := labels.Parse(p.NodeSelector); err != nil {
		problems = append(problems, fmt.Errorf("--node-selector is %q, want labels such as disk=ssd: %w", p.NodeSelector, err))
	}
	for _, secret := range p.PullSecrets {
		if !isName(secret) {
			problems = append(problems, fmt.Errorf("--image-pull-secret is %q, want the name of a Secret", secret))
		}
	}
	return problems
}

func (o *Options) rules() []error {
	const positive = flags.Positive
	p, m := o.Prepull, o.Metadata
	return []error{
		flags.That(reference.ValidatePrefix(o.DefaultImagePrefix) == nil, "default-image-prefix", o.DefaultImagePrefix, "a registry path without a scheme"),
		flags.That(isLabel(o.Namespace), "namespace", o.Namespace, "the name of a namespace"),
		flags.That(o.Output == OutputTable || o.Output == OutputJSON, "format", o.Output, "table or json"),
		flags.That(o.Log.Level >= 0, "log-level", o.Log.Level, "0 or more"),
		flags.That(o.Log.Format == "json" || o.Log.Format == "text", "log-format", o.Log.Format, "json or text"),
		flags.That(o.Timeout > 0, "timeout", o.Timeout, positive),
		flags.That(o.Interval >= time.Minute, "interval", o.Interval, "1m or more"),
		flags.That(!o.Watch || !o.DryRun, "watch", o.Watch, "false with --dry-run"),
		flags.That(o.Resolve.Parallel > 0, "max-parallel-lookups", o.Resolve.Parallel, positive),
		flags.That(o.Resolve.Timeout > 0, "lookup-timeout", o.Resolve.Timeout, positive),
		flags.That(o.Resolve.Jitter >= 0, "jitter", o.Resolve.Jitter, "0 or more"),
		flags.That(isName(o.Registry.AuthSecret), "registry-auth-secret-name", o.Registry.AuthSecret, "the name of a Secret"),
		flags.That(m.ConfigMap == "" || isName(m.ConfigMap), "metadata-configmap", m.ConfigMap, "the name of a ConfigMap"),
		flags.That(m.Namespace == "" || isLabel(m.Namespace), "metadata-namespace", m.Namespace, "the name of a namespace"),
		flags.That(p.User == functionpod.UserNobody || p.User == functionpod.UserAssigned, "pod-user", p.User, "nobody or assigned"),
		flags.That(slices.Contains(injection.Methods, p.Injection), "wrapper-injection", p.Injection, "one of auto, image-volume, init-container"),
		flags.That(p.MaxParallel > 0, "max-parallel-pulls", p.MaxParallel, positive),
		flags.That(p.MaxPerNode > 0, "max-parallel-pulls-per-node", p.MaxPerNode, positive),
		flags.That(p.Timeout > 0, "pull-timeout", p.Timeout, positive),
	}
}

func isLabel(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }

func isName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }
