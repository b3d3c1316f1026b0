// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package options defines the flags of the image warmer. Flags that the function runner also has have the same names, meanings and
// defaults.
package options

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/services/images/reference"
)

// The values of --format.
const (
	OutputTable = "table"
	OutputJSON  = "json"
)

// Options are the values of the flags; see Flags.
type Options struct {
	Sources Sources
	// DefaultImagePrefix is the prefix of images without a slash. Rewrites then replace prefixes.
	DefaultImagePrefix string
	Rewrites           reference.Rewrites
	// Policy is the path of the image policy. Empty permits all images.
	Policy string
	// Namespace is the namespace of function pods and FunctionConfig objects.
	Namespace string
	// Kubeconfig is the path of a kubeconfig file. Empty means the default locations.
	Kubeconfig string
	Resolve    struct {
		// Parallel is the maximum number of concurrent lookups, and Timeout is the timeout of one lookup.
		Parallel int
		Timeout  time.Duration
	}
	Registry struct {
		// Private enables credentials: those of the docker config file AuthPath for lookups, and of the Secret AuthSecret for pulls.
		Private              bool
		AuthPath, AuthSecret string
		// TLS enables the CA certificates in the directory TLSPath.
		TLS     bool
		TLSPath string
	}
	Metadata struct {
		// ConfigMap and Namespace identify a ConfigMap. An empty name means none. An empty namespace means the pod's own.
		ConfigMap, Namespace string
		// File is the path of a file that replaces the ConfigMap. "-" means standard output.
		File string
	}
	// Prepull configures pulls. Pods use the Secret of private registries in addition to PullSecrets.
	Prepull struct {
		Enabled bool
		Pulls
	}
	// Output is OutputTable or OutputJSON.
	Output string
	// DryRun reports what a run would do, and changes nothing.
	DryRun bool
	// Timeout is the maximum duration of one run. Images that are not done by then fail.
	Timeout time.Duration
	// Watch repeats runs: for all nodes every Interval, and for new nodes when they join.
	Watch    bool
	Interval time.Duration
	Log      struct {
		// Level is klog's verbosity. Format is json or text.
		Level  int
		Format string
	}
}

// Sources are the sources of images. Empty ones are ignored.
type Sources struct {
	// Images are references or short names of images.
	Images []string
	// PodCacheConfig is the path of the function runner's settings file, and Kptfiles are directories with packages.
	PodCacheConfig string
	Kptfiles       []string
	// FunctionConfigs adds the images of FunctionConfig objects.
	FunctionConfigs bool
}

// Pulls configures the pods that make nodes pull images.
type Pulls struct {
	// WrapperImage is the image of the wrapper server, and Injection is the way to add it to a pod. injection.Auto uses image volumes if
	// the cluster supports them, and init containers otherwise, or if image volumes fail.
	WrapperImage string
	Injection    injection.Method
	// NodeSelector and Tolerations select the nodes. An empty selector selects all nodes.
	NodeSelector string
	Tolerations  []corev1.Toleration
	// User is functionpod.UserNobody or functionpod.UserAssigned.
	User string
	// PullSecrets are the names of pull secrets in the namespace.
	PullSecrets []string
	// MaxParallel is the maximum number of concurrent pulls, and MaxPerNode the maximum on one node. Both are at least 1.
	MaxParallel, MaxPerNode int
	// Timeout is the maximum duration of one pull. The kubelet enforces it if the image warmer has exited.
	Timeout time.Duration
}

const (
	// wrapperImageVariable is the environment variable with the image of the wrapper server. The function runner has the same.
	wrapperImageVariable = "WRAPPER_SERVER_IMAGE"
	// inClusterVariable is set in every pod.
	inClusterVariable = "KUBERNETES_SERVICE_HOST"
)

// Parse parses flags and arguments, which are images. Environment variables replace missing flags. The error names all invalid flags; it is
// pflag.ErrHelp for --help.
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

// NeedsCluster reports whether the image warmer reads from a cluster or writes to it.
func (o *Options) NeedsCluster() bool {
	return o.Prepull.Enabled || o.Sources.FunctionConfigs || o.Publishes()
}

// Publishes reports whether the image warmer writes metadata to a ConfigMap.
func (o *Options) Publishes() bool { return o.Metadata.File == "" && o.Metadata.ConfigMap != "" }

// validate returns an error that names all invalid flags.
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
