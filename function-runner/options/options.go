// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package options defines the flags of the function runner. Flags that Porch's function runner also has keep their names, meanings and
// defaults.
package options

import (
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/server/callers"
	"github.com/krmfn/krmfn/services/server/certificates"
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
		// function runner's namespace. With CAExternal, another program maintains the Secret. CALifetime and CertificateLifetime are the
		// lifetimes of authorities and of certificates.
		TLS, CASecret                   string
		CAExternal                      bool
		CALifetime, CertificateLifetime time.Duration
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

// Flags returns the flags that set o, and sets o to their defaults.
func (o *Options) Flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("function-runner", pflag.ContinueOnError)
	f.SortFlags = false
	f.IntVar(&o.Port, "port", 9445, "port to listen on, on all interfaces; 0 means any free port")
	f.StringVar(&o.DisableRuntimes, "disable-runtimes", "", "comma-separated list of evaluators to disable: exec, pod")
	f.StringVar(&o.DefaultImagePrefix, "default-image-prefix", reference.CatalogPrefix+"/", "prefix for images without a slash")
	f.IntVar(&o.Log.Level, "log-level", 2, "log verbosity: 0 for errors, 1 for warnings, 2 and 3 for one line per evaluation, 4 and above for debugging")
	f.StringVar(&o.Log.Format, "log-format", "json", "log format: json or text")
	f.BoolVar(&o.Log.FailureReasons, "log-failure-reasons", false, "log the first line of the error of a function that fails, which may quote the package")

	f.IntVar(&o.Limits.MaxMessageSize, "max-request-body-size", 6<<20, "maximum size of a gRPC message in bytes, in both directions")
	f.Int64Var(&o.Limits.MaxListSize, "max-resource-list-size", 64<<20, "maximum size in bytes of a streamed ResourceList")
	f.Int64Var(&o.Limits.MaxBytesInFlight, "max-bytes-in-flight", 0, "maximum total size in bytes of the requests of all calls; up to a thousand further calls wait in order; 0 means a sixth of the heap limit, which is GOMEMLIMIT or 40% of the cgroup's memory limit")
	o.Limits.ResultCache = resource.QuantityValue{Quantity: resource.MustParse("0")}
	f.Var(&o.Limits.ResultCache, "result-cache-size", "memory for cached answers of deterministic functions, for example 64Mi; reduces the memory for calls in flight; 0 disables the cache")
	f.DurationVar(&o.Limits.MaxEvaluationTime, "max-evaluation-time", 5*time.Minute, "maximum duration of an evaluation, including the time in the queue")
	f.IntVar(&o.Limits.MaxConcurrent, "max-concurrent-evaluations", 4*runtime.GOMAXPROCS(0), "maximum number of executables that run at once; default four per CPU")
	f.IntVar(&o.Limits.MaxQueued, "max-queued-evaluations", 100, "maximum number of calls that wait for an executable; further calls fail")
	f.IntVar(&o.StandbyProcesses, "standby-processes", DefaultStandbyProcesses, "number of standby processes per executable, and per function pod, started before their calls; each answers one call and ends after 30 idle seconds")
	f.DurationVar(&o.DrainTimeout, "drain-timeout", 25*time.Second, "how long to wait for running calls after --shutdown-delay")
	f.DurationVar(&o.ShutdownDelay, "shutdown-delay", 3*time.Second, "how long to accept new calls after SIGTERM, while Kubernetes removes the replica from its Service")
	f.StringVar(&o.Deployment, "deployment", "", "name of the function runner's own Deployment, in its namespace; if that has been scaled to 0, the function runner skips --shutdown-delay, because callers have no other replica to go to; empty, and without the evaluator pod, never")

	f.StringVar(&o.Exec.Config, "config", "./config.yaml", "path of the file that maps images to executables; empty means none")
	f.StringVar(&o.Exec.Functions, "functions", "./functions", "directory that contains the executables")
	f.BoolVar(&o.Exec.Strict, "strict-config", false, "treat every problem in the config file as an error: unknown fields, duplicate images, executables that cannot be run")
	f.StringVar(&o.Exec.Tags, "executable-tags", ExecutableTagsOwn, "tags that functions with a version in --config answer to: own, which are those in the file; compatible, also other patch releases of the same minor version; or all; digests must be in the file; reports warn of another version")

	f.StringVar(&o.Pod.Kubeconfig, "kubeconfig", "", "path of a kubeconfig file; empty means KUBECONFIG, the in-cluster configuration, or ~/.kube/config, in this order")
	f.StringVar(&o.Pod.Namespace, "pod-namespace", "porch-fn-system", "namespace of the function pods")
	f.StringVar(&o.Pod.CacheConfig, "pod-cache-config", "/pod-cache-config/pod-cache-config.yaml", "path of the file with settings of functions")
	f.BoolVar(&o.Pod.WarmUp, "warm-up-pod-cache", true, "at start, create a pod for each function in --pod-cache-config and for each tag of FunctionConfig objects with a podExecutor")
	f.StringVar(&o.Pod.FunctionConfigs, "function-configs", FunctionConfigsAuto, "apply FunctionConfig objects in --pod-namespace: auto, if the cluster has this resource and pods are enabled, or off")
	f.DurationVar(&o.Pod.TTL, "pod-ttl", 30*time.Minute, "how long to keep an idle function pod")
	f.DurationVar(&o.Pod.ScanInterval, "scan-interval", time.Minute, "how often to look for idle function pods")
	f.StringVar(&o.Pod.Template, "function-pod-template", "", "name of the ConfigMap with the template of function pods, in the function runner's namespace; empty means the built-in template")
	f.StringVar(&o.Pod.Patches, "function-pods", "", "path of the file with labels, isolation and scheduling of function pods, for all functions or some; empty means none")
	f.IntVar(&o.Pod.MaxWaitlist, "max-waitlist-length", 2, "number of calls per function pod above which another pod is created")
	f.IntVar(&o.Pod.MaxPods, "max-parallel-pods-per-function", 1, "maximum number of pods per function, over all function runners")
	f.IntVar(&o.Pod.MaxPerPod, "max-concurrent-evaluations-per-pod", 8, "maximum number of calls that one function pod runs at once")
	f.IntVar(&o.Pod.MaxWaiting, "max-queued-evaluations-per-function", 1000, "maximum number of calls per function that wait for a pod; further calls fail")
	f.IntVar(&o.Pod.MaxWarmUps, "max-parallel-warm-ups", 16, "maximum number of function pods that one function runner starts at once while no call waits for them; raise it in clusters with many nodes")
	f.DurationVar(&o.Pod.ReadyTimeout, "pod-ready-timeout", 2*time.Minute, "how long a function pod may take to become ready")
	f.StringVar(&o.Pod.Frontend, "pod-frontend", "auto", "how to connect to function pods: service, pod-ip, or auto, which uses the Service if a service mesh added a sidecar and the address otherwise")
	f.StringVar(&o.Pod.Injection, "wrapper-injection", "auto", "how to add the wrapper server to function pods, unless their template starts its own: image-volume, init-container, or auto, which chooses by what the cluster supports")
	f.StringVar(&o.Pod.ImageForm, "pod-image-form", ImageFormDigest, "how function pods name their image: digest, or reference, which is the name as it was called; the node then asks the registry at each start of a pod")
	f.StringVar(&o.Pod.User, "pod-user", functionpod.UserNobody, "user of function pods of the built-in template: nobody, which is the image's own user if that is a number other than 0 and otherwise 65534, or assigned, which leaves the choice to the cluster, as OpenShift requires")
	f.StringVar(&o.Pod.TLS, "function-pod-tls", PodTLSOff, "which new function pods demand a client certificate of the function runner: off, auto, which is those of the built-in template, or always, which requires krmfn's wrapper server in templates of one's own")
	f.StringVar(&o.Pod.CASecret, "function-pod-ca-secret", "function-pod-ca", "name of the Secret with the certificate authority for function pods, in the function runner's namespace")
	f.BoolVar(&o.Pod.CAExternal, "function-pod-ca-external", false, "only read --function-pod-ca-secret (tls.crt, tls.key and ca.crt, as cert-manager writes them); otherwise the function runner creates and rotates the certificate authority in it")
	f.DurationVar(&o.Pod.CALifetime, "function-pod-ca-lifetime", 90*24*time.Hour, "lifetime of a certificate authority that the function runner creates; it gets a successor after two thirds of it")
	f.DurationVar(&o.Pod.CertificateLifetime, "function-pod-certificate-lifetime", 24*time.Hour, "lifetime of the function runner's own certificates for function pods")
	f.StringArrayVar(&o.Pod.PullSecrets, "image-pull-secret", nil, "Secret in --pod-namespace that function pods pull with; may be repeated")

	f.DurationVar(&o.Images.TTL, "image-ttl", 5*time.Minute, "how long to trust the digest of a tag before asking the registry again")
	f.Var(&o.Images.Rewrites, "image-rewrite", "rule FROM=TO that replaces the prefix FROM of images by TO, for example a mirror's; repeatable, the longest FROM wins")
	f.StringVar(&o.Images.Policy, "image-policy", "", "path of the policy of images that function pods may run; empty permits all images")
	f.StringVar(&o.Images.Warmed, "image-metadata", "", "path of the metadata file of the image warmer; it may appear later")
	f.StringVar(&o.Images.Kept, "image-cache-file", "", "path of a file that keeps image metadata across restarts; empty keeps it in memory only")

	f.BoolVar(&o.Registry.Private, "enable-private-registries", false, "use the credentials in --registry-auth-secret-path")
	f.StringVar(&o.Registry.AuthPath, "registry-auth-secret-path", "/var/tmp/config-secret/.dockerconfigjson", "path of a Docker config file with registry credentials")
	f.StringVar(&o.Registry.AuthSecret, "registry-auth-secret-name", "auth-secret", "name of the pull secret to maintain in the function namespace")
	f.BoolVar(&o.Registry.TLS, "enable-private-registries-tls", false, "trust the CA certificates in --tls-secret-path")
	f.StringVar(&o.Registry.TLSPath, "tls-secret-path", "/var/tmp/tls-secret/", "directory that contains ca.crt or ca.pem")

	o.TLS.AddTo(f)
	o.Callers.AddTo(f)
	return f
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
