// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package options defines the flags of the function runner. Flags that Porch's function runner also has keep their names, meanings and
// defaults.
package options

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/krmfn/krmfn/internal/server/callers"
	"github.com/krmfn/krmfn/internal/server/certificates"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Options are the settings of a function runner. Each field is the value of a flag; see Flags.
type Options struct {
	// Port is the port for calls, on all interfaces. 0 means any free port.
	Port int
	// DisableRuntimes lists the disabled evaluators; see Enabled.
	DisableRuntimes string
	Log             struct {
		// Level is the verbosity, like klog's. Format is json or text.
		Level  int
		Format string
		// FailureReasons logs the first line of what a function says about its failure.
		FailureReasons bool
	}
	// DefaultImagePrefix is the prefix for images without a slash.
	DefaultImagePrefix string
	Limits             struct {
		// MaxMessageSize is the maximum size of a message in either direction, and MaxListSize is the maximum size of a streamed
		// ResourceList, both in bytes.
		MaxMessageSize int
		MaxListSize    int64
		// MaxBytesInFlight is the maximum total size of the requests of all calls, in bytes. 0 means a share of the memory.
		MaxBytesInFlight int64
		// MaxEvaluationTime is the maximum duration of an evaluation, including its wait.
		MaxEvaluationTime time.Duration
		// ResultCache is the maximum size of the result cache, in bytes. 0 disables the cache.
		ResultCache resource.QuantityValue
		// MaxConcurrent is the maximum number of running executables. MaxQueued is the maximum number of calls that wait for one.
		MaxConcurrent, MaxQueued int
	}
	// StandbyProcesses is the number of standby processes per executable and per function pod.
	StandbyProcesses int
	// At shutdown, the function runner accepts new calls for ShutdownDelay, and then waits up to DrainTimeout for running calls.
	DrainTimeout, ShutdownDelay time.Duration
	// Deployment is the name of the function runner's Deployment. If it is scaled to 0, there is no ShutdownDelay. Empty means unknown.
	Deployment string
	Exec       Exec
	Pod        struct {
		// Kubeconfig is the path of a kubeconfig file. Empty means the default locations.
		Kubeconfig string
		// Namespace is the namespace of the function pods.
		Namespace string
		// CacheConfig is the path of the file with settings of functions. WarmUp creates pods for its entries at start.
		CacheConfig string
		WarmUp      bool
		// FunctionConfigs is FunctionConfigsAuto or FunctionConfigsOff.
		FunctionConfigs string
		// TTL is the time after which an idle pod is deleted. ScanInterval is the interval between scans for idle pods.
		TTL, ScanInterval time.Duration
		// Template is the name of a ConfigMap. Empty means the built-in template.
		Template string
		// Patches is the path of a file with settings that are merged into the template. Empty means none.
		Patches string
		// MaxWaitlist, MaxPods, MaxPerPod and MaxWaiting are limits of one function's pool: the calls per pod above which another pod is
		// created, and the maximum numbers of pods, of running calls per pod, and of calls that wait for a lease.
		MaxWaitlist, MaxPods, MaxPerPod, MaxWaiting int
		// MaxWarmUps is the maximum number of pods that start at the same time without waiting calls. ReadyTimeout limits the start of
		// each pod.
		MaxWarmUps   int
		ReadyTimeout time.Duration
		// Frontend is auto, service or pod-ip. Injection is auto, image-volume or init-container.
		Frontend, Injection string
		// ImageForm is ImageFormDigest or ImageFormReference. User is functionpod.UserNobody or functionpod.UserAssigned.
		ImageForm, User string
		// TLS is PodTLSOff, PodTLSAuto or PodTLSAlways. CASecret is the name of the Secret with the certificate authority, in the
		// function runner's namespace. With CAExternal, another program maintains the Secret. CALifetime is the lifetime of authorities.
		TLS, CASecret string
		CAExternal    bool
		CALifetime    time.Duration
		// PullSecrets are the names of Secrets in Namespace.
		PullSecrets []string
	}
	Images struct {
		// TTL is the time for which the digest of a tag is trusted.
		TTL time.Duration
		// Rewrites replace prefixes of references.
		Rewrites reference.Rewrites
		// Policy is the path of the image policy, Warmed is the path of the image warmer's metadata file, and Kept is the path of the
		// file that keeps image metadata across restarts. Empty means none.
		Policy, Warmed, Kept string
	}
	Registry struct {
		// Private enables the credentials in the docker config file AuthPath, which the function runner copies to the Secret AuthSecret.
		Private              bool
		AuthPath, AuthSecret string
		// TLS enables the CA certificates in the directory TLSPath.
		TLS     bool
		TLSPath string
	}
	// TLS configures the security of connections to this server. Callers configures who may call.
	TLS     certificates.ServerFlags
	Callers callers.Flags
}

// DefaultStandbyProcesses is the default of --standby-processes, here and in the wrapper server.
const DefaultStandbyProcesses = 1

// Exec configures the exec evaluator.
type Exec struct {
	// Config is the path of the config file. Empty means none. Functions is the directory of the executables.
	Config, Functions string
	// Strict makes every problem in the config file an error.
	Strict bool
	// Tags controls which tags functions with a version in the config file evaluate. It is a value of --executable-tags.
	Tags string
}

// Default returns the default settings.
func Default() Options {
	var o Options
	o.Flags()
	return o
}

// Parse parses arguments. Like Porch's function runner, it accepts flags with one or two dashes. Errors name the flag.
func Parse(args []string) (Options, error) {
	var o Options
	flags := o.Flags()
	flags.Usage = func() {}
	doubled := make([]string, len(args))
	for i, arg := range args {
		if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && strings.Trim(arg[1:2], "0123456789") != "" {
			arg = "-" + arg
		}
		doubled[i] = arg
	}
	if err := flags.Parse(doubled); err != nil {
		return Options{}, err
	}
	return o, o.validate(flags.Args())
}

// Reference returns the reference that is pulled for an image in a call: it adds the default prefix to a short name, and applies the
// rewrites.
func (o *Options) Reference(name string) (string, error) {
	ref, err := reference.Resolve(name, o.DefaultImagePrefix)
	if err != nil {
		return "", err
	}
	return o.Images.Rewrites.Apply(ref), nil
}
