// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package options has the flags of the function runner. Those that Porch's function runner has keep their names, meanings
// and defaults.
package options

import (
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/krmfn/krmfn/services/images/reference"
)

// Options are the settings of a function runner. Each is the value of a flag, which Flags describes.
type Options struct {
	// Port is where calls come in, on all interfaces; 0 lets the system choose.
	Port int
	// DisableRuntimes names the evaluators to do without; see Enabled.
	DisableRuntimes string
	Log             struct {
		// Level is klog's verbosity, and Format json or text.
		Level  int
		Format string
	}
	// DefaultImagePrefix is put before images without a slash.
	DefaultImagePrefix string
	Limits             struct {
		// MaxMessageSize and MaxListSize are in bytes: of one message in either direction, and of a ResourceList that is streamed.
		MaxMessageSize int
		MaxListSize    int64
		// MaxBytesInFlight is the most bytes of the requests of all calls together; 0 means a share of the memory.
		MaxBytesInFlight int64
		// MaxEvaluationTime includes the time that an evaluation waits.
		MaxEvaluationTime time.Duration
		// ResultCache is the most bytes of the answers of deterministic functions that are kept; 0 keeps none.
		ResultCache resource.QuantityValue
		// MaxConcurrent is how many evaluations run at once; MaxQueued is how many more may wait.
		MaxConcurrent, MaxQueued int
	}
	// StandbyProcesses is how many processes of each function are started ahead of their calls, here and in function pods.
	StandbyProcesses int
	// At shutdown, new calls are answered for ShutdownDelay, and then running ones may take DrainTimeout to finish.
	DrainTimeout, ShutdownDelay time.Duration
	Exec                        Exec
	Pod                         struct {
		// Kubeconfig is a file; empty means the usual places.
		Kubeconfig string
		// Namespace is where function pods live.
		Namespace string
		// CacheConfig is the file with settings of single functions; WarmUp makes pods for its entries at start.
		CacheConfig string
		WarmUp      bool
		// FunctionConfigs is FunctionConfigsAuto or FunctionConfigsOff.
		FunctionConfigs string
		// TTL is how long an idle pod is kept; ScanInterval is how often idle pods are looked for.
		TTL, ScanInterval time.Duration
		// Template names a ConfigMap; empty means the built-in template.
		Template string
		// MaxWaitlist and MaxPods are the limits of one function's pool; MaxPerPod is how many calls one pod runs at once, and
		// MaxWaiting how many may wait for a place.
		MaxWaitlist, MaxPods, MaxPerPod, MaxWaiting int
		ReadyTimeout                                time.Duration
		// Frontend is auto, service or pod-ip; Injection auto, image-volume or init-container.
		Frontend, Injection string
	}
	Images struct {
		// TTL is how long the digest of a tag is taken for granted.
		TTL time.Duration
		// Rewrites replace prefixes of references.
		Rewrites reference.Rewrites
		// Policy is a file that says which images may run in pods, Warmed the image warmer's file of known images, and Kept a file that
		// keeps what this function runner has learnt; "" for none.
		Policy, Warmed, Kept string
	}
	Registry struct {
		// Private turns on credentials from AuthPath, a docker config file, replicated to the Secret AuthSecret.
		Private              bool
		AuthPath, AuthSecret string
		// TLS turns on the CA certificates in the directory TLSPath.
		TLS     bool
		TLSPath string
	}
}

// DefaultStandbyProcesses is the default of --standby-processes, the wrapper server's too.
const DefaultStandbyProcesses = 1

// Exec configures the exec evaluator.
type Exec struct {
	// Config is the config file; empty means none. Functions is the directory of the executables.
	Config, Functions string
	// Strict makes every problem in the config file an error.
	Strict bool
}

// Default returns the settings that hold where no flag is given.
func Default() Options {
	var o Options
	o.Flags()
	return o
}

// Flags returns the flags that set o, and sets o to their defaults.
func (o *Options) Flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("function-runner", pflag.ContinueOnError)
	f.SortFlags = false
	f.IntVar(&o.Port, "port", 9445, "port to listen on, on all interfaces; 0 lets the system choose")
	f.StringVar(&o.DisableRuntimes, "disable-runtimes", "", "evaluators to do without, separated by commas: exec, pod")
	f.StringVar(&o.DefaultImagePrefix, "default-image-prefix", reference.CatalogPrefix+"/", "what is put before images that have no slash")
	f.IntVar(&o.Log.Level, "log-level", 2, "0 logs errors, 1 warnings, 2 and 3 one line per evaluation, 4 and more debugging")
	f.StringVar(&o.Log.Format, "log-format", "json", "json or text")

	f.IntVar(&o.Limits.MaxMessageSize, "max-request-body-size", 6<<20, "most bytes of one gRPC message, in both directions")
	f.Int64Var(&o.Limits.MaxListSize, "max-resource-list-size", 64<<20, "most bytes of a ResourceList that is streamed in parts")
	f.Int64Var(&o.Limits.MaxBytesInFlight, "max-bytes-in-flight", 0, "most bytes of the requests of all calls together; further calls wait in order, up to a thousand; 0 means a sixth of the memory that is the function runner's own, which is 40% of its cgroup's limit, or GOMEMLIMIT")
	o.Limits.ResultCache = resource.QuantityValue{Quantity: resource.MustParse("0")}
	f.Var(&o.Limits.ResultCache, "result-cache-size", "most memory, such as 64Mi, for the answers of functions that declare themselves deterministic: a later call with the same input gets the kept answer; calls in flight have that much less memory; 0 turns the cache off")
	f.DurationVar(&o.Limits.MaxEvaluationTime, "max-evaluation-time", 5*time.Minute, "most time that one evaluation may take, waiting included")
	f.IntVar(&o.Limits.MaxConcurrent, "max-concurrent-evaluations", 4*runtime.GOMAXPROCS(0), "how many executables run at once; four for each processor")
	f.IntVar(&o.Limits.MaxQueued, "max-queued-evaluations", 100, "how many calls may wait for an executable; the next is refused")
	f.IntVar(&o.StandbyProcesses, "standby-processes", DefaultStandbyProcesses, "how many processes of each function are started ahead of their calls, of executables and in each function pod; each answers one call, and ends when none comes for 30 seconds")
	f.DurationVar(&o.DrainTimeout, "drain-timeout", 25*time.Second, "how long running calls may take to finish after --shutdown-delay")
	f.DurationVar(&o.ShutdownDelay, "shutdown-delay", 3*time.Second, "how long new calls are still answered after SIGTERM, while Kubernetes takes the replica out of its Service")

	f.StringVar(&o.Exec.Config, "config", "./config.yaml", "file that maps images to executables; empty means none")
	f.StringVar(&o.Exec.Functions, "functions", "./functions", "directory of the executables")
	f.BoolVar(&o.Exec.Strict, "strict-config", false, "make every problem in the config file an error: unknown fields, duplicate images, executables that cannot be run")

	f.StringVar(&o.Pod.Kubeconfig, "kubeconfig", "", "kubeconfig file; empty means KUBECONFIG, the cluster that this runs in, or ~/.kube/config")
	f.StringVar(&o.Pod.Namespace, "pod-namespace", "porch-fn-system", "namespace of the function pods")
	f.StringVar(&o.Pod.CacheConfig, "pod-cache-config", "/pod-cache-config/pod-cache-config.yaml", "file with settings of single functions")
	f.BoolVar(&o.Pod.WarmUp, "warm-up-pod-cache", true, "make a pod at start for each function of --pod-cache-config, and for each tag that a FunctionConfig object names for pods")
	f.StringVar(&o.Pod.FunctionConfigs, "function-configs", FunctionConfigsAuto, "follow the FunctionConfig objects in --pod-namespace: auto, where the cluster has them and pods are not disabled, or off")
	f.DurationVar(&o.Pod.TTL, "pod-ttl", 30*time.Minute, "how long an idle function pod is kept")
	f.DurationVar(&o.Pod.ScanInterval, "scan-interval", time.Minute, "how often idle function pods are looked for")
	f.StringVar(&o.Pod.Template, "function-pod-template", "", "ConfigMap with the template of function pods, in the function runner's namespace; empty means the built-in template")
	f.IntVar(&o.Pod.MaxWaitlist, "max-waitlist-length", 2, "how many calls a function pod may have before another pod is made")
	f.IntVar(&o.Pod.MaxPods, "max-parallel-pods-per-function", 1, "most pods of one function, of all function runners together")
	f.IntVar(&o.Pod.MaxPerPod, "max-concurrent-evaluations-per-pod", 8, "how many calls one function pod runs at once")
	f.IntVar(&o.Pod.MaxWaiting, "max-queued-evaluations-per-function", 1000, "how many calls of one function may wait for a place in a pod; the next is refused")
	f.DurationVar(&o.Pod.ReadyTimeout, "pod-ready-timeout", 2*time.Minute, "how long a function pod may take to get ready")
	f.StringVar(&o.Pod.Frontend, "pod-frontend", "auto", "how function pods are reached: service, pod-ip, or auto, which is the address, but the Service where a service mesh has added a sidecar")
	f.StringVar(&o.Pod.Injection, "wrapper-injection", "auto", "how the wrapper server comes into function pods of the built-in template: image-volume, init-container, or auto by what the cluster can do")

	f.DurationVar(&o.Images.TTL, "image-ttl", 5*time.Minute, "how long the image that a tag names is taken for granted; then the registry is asked again")
	f.Var(&o.Images.Rewrites, "image-rewrite", "FROM=TO: function pods run images below TO where calls name those below FROM, such as a mirror's; may be given more than once, the longest FROM counts")
	f.StringVar(&o.Images.Policy, "image-policy", "", "file that says which images function pods may run; empty permits all")
	f.StringVar(&o.Images.Warmed, "image-metadata", "", "file of known images that the image warmer has made; a missing one is waited for")
	f.StringVar(&o.Images.Kept, "image-cache-file", "", "file in which the images that are known are kept over a restart; empty keeps them in memory alone")

	f.BoolVar(&o.Registry.Private, "enable-private-registries", false, "use the credentials of --registry-auth-secret-path")
	f.StringVar(&o.Registry.AuthPath, "registry-auth-secret-path", "/var/tmp/config-secret/.dockerconfigjson", "docker config file with credentials of registries")
	f.StringVar(&o.Registry.AuthSecret, "registry-auth-secret-name", "auth-secret", "pull secret that is kept in the namespace of the function pods")
	f.BoolVar(&o.Registry.TLS, "enable-private-registries-tls", false, "trust the CA certificates of --tls-secret-path")
	f.StringVar(&o.Registry.TLSPath, "tls-secret-path", "/var/tmp/tls-secret/", "directory with ca.crt or ca.pem")
	return f
}

// Parse reads arguments. Like Porch's function runner it takes flags with one dash or two. The error names the flag.
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

// Reference returns what is pulled for an image that calls name: with the prefix before a short name, and below a mirror where
// the rewrites say so.
func (o *Options) Reference(name string) (string, error) {
	ref, err := reference.Resolve(name, o.DefaultImagePrefix)
	if err != nil {
		return "", err
	}
	return o.Images.Rewrites.Apply(ref), nil
}
