// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"runtime"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Flags returns the flags that set o, and sets o to their defaults.
func (o *Options) Flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("function-runner", pflag.ContinueOnError)
	f.SortFlags = false
	o.serverFlags(f)
	flags.Group(f, "Server")
	o.evaluationFlags(f)
	flags.Group(f, "Evaluation")
	o.Exec.addTo(f)
	flags.Group(f, "Executables")
	o.podFlags(f)
	flags.Group(f, "Function pods")
	o.poolFlags(f)
	flags.Group(f, "Pools")
	o.podTLSFlags(f)
	flags.Group(f, "TLS to function pods")
	o.imageFlags(f)
	flags.Group(f, "Images")
	o.registryFlags(f)
	flags.Group(f, "Registries")
	o.TLS.AddTo(f)
	flags.Group(f, "TLS")
	o.Callers.AddTo(f)
	flags.Group(f, "Callers")
	o.logFlags(f)
	flags.Group(f, "Logging")
	o.advancedFlags(f)
	flags.Group(f, "Advanced")
	return f
}

func (o *Options) serverFlags(f *pflag.FlagSet) {
	f.IntVar(&o.Port, "port", 9445, "port to listen on, on all interfaces; 0 means any free port")
	f.IntVar(&o.Limits.MaxMessageSize, "max-request-body-size", 6<<20, "maximum size of a gRPC message in bytes, in both directions")
	f.Int64Var(&o.Limits.MaxListSize, "max-resource-list-size", 64<<20, "maximum size in bytes of a streamed ResourceList")
	f.DurationVar(&o.DrainTimeout, "drain-timeout", 25*time.Second, "how long to wait for running calls after --shutdown-delay")
	f.DurationVar(&o.ShutdownDelay, "shutdown-delay", 3*time.Second, "how long to accept new calls after SIGTERM, while Kubernetes removes the replica from its Service")
	f.StringVar(&o.Deployment, "deployment", "", "name of the function runner's own Deployment; if it is scaled to 0, the function runner skips --shutdown-delay, because no other replica can answer callers; requires the evaluator pod; empty means that --shutdown-delay always applies")
}

func (o *Options) evaluationFlags(f *pflag.FlagSet) {
	f.StringVar(&o.DisableRuntimes, "disable-runtimes", "", "comma-separated list of evaluators to disable: exec, pod")
	f.DurationVar(&o.Limits.MaxEvaluationTime, "max-evaluation-time", 5*time.Minute, "maximum duration of an evaluation, including the time in the queue")
	f.IntVar(&o.StandbyProcesses, "standby-processes", DefaultStandbyProcesses, "number of standby processes per executable, and per function pod, started before their calls; each answers one call and ends after 30 idle seconds")
	o.Limits.ResultCache = resource.QuantityValue{Quantity: resource.MustParse("0")}
	f.Var(&o.Limits.ResultCache, "result-cache-size", "memory for cached answers of deterministic functions, for example 64Mi; reduces the memory for calls in flight; 0 disables the cache")
	f.IntVar(&o.Limits.MaxConcurrent, "max-concurrent-evaluations", 4*runtime.GOMAXPROCS(0), "maximum number of executables that run at once")
	f.Lookup("max-concurrent-evaluations").DefValue = "4 per CPU"
	f.IntVar(&o.Limits.MaxQueued, "max-queued-evaluations", 100, "maximum number of calls that wait for an executable; further calls fail")
}

func (e *Exec) addTo(f *pflag.FlagSet) {
	f.StringVar(&e.Config, "config", "./config.yaml", "path of the file that maps images to executables; empty means none")
	f.StringVar(&e.Functions, "functions", "./functions", "directory that contains the executables")
	f.BoolVar(&e.Strict, "strict-config", false, "treat every problem in the config file as an error: unknown fields, duplicate images, executables that cannot be run")
	f.StringVar(&e.Tags, "executable-tags", ExecutableTagsOwn, "which tags of its images an executable with a version evaluates: own, the tags in --config; compatible, also tags of other patch releases of the minor version; or all; the report of a tag of another version has a warning; digests must be in --config")
}

func (o *Options) podFlags(f *pflag.FlagSet) {
	p := &o.Pod
	f.StringVar(&p.Kubeconfig, "kubeconfig", "", "path of a kubeconfig file; empty means KUBECONFIG, the in-cluster configuration, or ~/.kube/config, in this order")
	f.StringVar(&p.Namespace, "pod-namespace", "porch-fn-system", "namespace of the function pods")
	f.StringVar(&p.CacheConfig, "pod-cache-config", "/pod-cache-config/pod-cache-config.yaml", "path of the file with settings of functions")
	f.BoolVar(&p.WarmUp, "warm-up-pod-cache", true, "at start, create a pod for each function in --pod-cache-config and for each tag of FunctionConfig objects with a podExecutor")
	f.StringVar(&p.FunctionConfigs, "function-configs", FunctionConfigsAuto, "apply FunctionConfig objects in --pod-namespace: auto, if the cluster has this resource and pods are enabled, or off")
	f.DurationVar(&p.TTL, "pod-ttl", 30*time.Minute, "how long to keep an idle function pod")
	f.DurationVar(&p.ScanInterval, "scan-interval", time.Minute, "how often to look for idle function pods")
	f.StringVar(&p.Template, "function-pod-template", "", "name of the ConfigMap with the template of function pods, in the function runner's namespace; empty means the built-in template")
	f.StringVar(&p.Patches, "function-pods", "", "path of the file with labels, isolation and scheduling of function pods, for all functions or some; empty means none")
	f.DurationVar(&p.ReadyTimeout, "pod-ready-timeout", 2*time.Minute, "how long a function pod may take to become ready")
	f.StringVar(&p.Frontend, "pod-frontend", "auto", "how to connect to function pods: service, pod-ip, or auto, which uses the Service if a service mesh added a sidecar and the address otherwise")
	f.StringVar(&p.Injection, "wrapper-injection", "auto", "how the wrapper server gets into pods: image-volume, init-container, or auto, which uses image volumes if the cluster supports them; ignored for templates that start their own wrapper server")
	f.StringVar(&p.User, "pod-user", functionpod.UserNobody, "user of function pods of the built-in template: nobody, which is the image's own user if that is a number other than 0 and otherwise 65534, or assigned, which leaves the choice to the cluster, as OpenShift requires")
	f.StringArrayVar(&p.PullSecrets, "image-pull-secret", nil, "name of a Secret in --pod-namespace that pods pull images with; may be repeated")
}

func (o *Options) poolFlags(f *pflag.FlagSet) {
	p := &o.Pod
	f.IntVar(&p.MaxPods, "max-parallel-pods-per-function", 1, "maximum number of pods per function, over all function runners")
	f.IntVar(&p.MaxWaitlist, "max-waitlist-length", 2, "number of calls in a function pod at which the next call starts another pod, up to --max-parallel-pods-per-function")
	f.IntVar(&p.MaxPerPod, "max-concurrent-evaluations-per-pod", 8, "maximum number of calls that one function pod runs at once; further calls wait in the function runner")
	f.IntVar(&p.MaxWaiting, "max-queued-evaluations-per-function", 1000, "maximum number of calls per function that wait in the function runner for a pod; further calls fail")
	f.IntVar(&p.MaxWarmUps, "max-parallel-warm-ups", 16, "maximum number of function pods that one function runner starts at once while no call waits for them; raise it in clusters with many nodes")
}

func (o *Options) podTLSFlags(f *pflag.FlagSet) {
	p := &o.Pod
	f.StringVar(&p.TLS, "function-pod-tls", PodTLSOff, "which new function pods accept only connections of function runners, by TLS: off, none; auto, pods of the built-in template; or always, also pods of --function-pod-template, which must then use krmfn's wrapper server")
	f.StringVar(&p.CASecret, "function-pod-ca-secret", "function-pod-ca", "name of the Secret with the certificate authority for function pods, in the function runner's namespace")
	f.BoolVar(&p.CAExternal, "function-pod-ca-external", false, "only read --function-pod-ca-secret (tls.crt, tls.key and ca.crt, as cert-manager writes them); otherwise the function runner creates and rotates the certificate authority in it")
	f.DurationVar(&p.CALifetime, "function-pod-ca-lifetime", 90*24*time.Hour, "lifetime of a certificate authority that the function runner creates; it gets a successor after two thirds of it")
}

func (o *Options) imageFlags(f *pflag.FlagSet) {
	f.StringVar(&o.DefaultImagePrefix, "default-image-prefix", reference.CatalogPrefix+"/", "prefix for images without a slash")
	f.Var(&o.Images.Rewrites, "image-rewrite", "rule FROM=TO that replaces the prefix FROM of images by TO, for example a mirror's; may be repeated, the longest FROM wins")
	f.StringVar(&o.Images.Policy, "image-policy", "", "path of the policy of images that function pods may run; empty permits all images")
	f.DurationVar(&o.Images.TTL, "image-ttl", 5*time.Minute, "how long to trust the digest of a tag before asking the registry again")
	f.StringVar(&o.Images.Warmed, "image-metadata", "", "path of the metadata file of the image warmer; it may appear later")
}

func (o *Options) registryFlags(f *pflag.FlagSet) {
	r := &o.Registry
	f.BoolVar(&r.Private, "enable-private-registries", false, "use the credentials in --registry-auth-secret-path")
	f.StringVar(&r.AuthPath, "registry-auth-secret-path", "/var/tmp/config-secret/.dockerconfigjson", "path of a Docker config file with registry credentials")
	f.StringVar(&r.AuthSecret, "registry-auth-secret-name", "auth-secret", "name of the pull secret that the function runner maintains in --pod-namespace")
	f.BoolVar(&r.TLS, "enable-private-registries-tls", false, "trust the CA certificates in --tls-secret-path")
	f.StringVar(&r.TLSPath, "tls-secret-path", "/var/tmp/tls-secret/", "directory that contains ca.crt or ca.pem")
}

func (o *Options) logFlags(f *pflag.FlagSet) {
	f.IntVar(&o.Log.Level, "log-level", 2, "log verbosity: 0 for errors, 1 for warnings, 2 and 3 for one line per evaluation, 4 and above for debugging")
	f.StringVar(&o.Log.Format, "log-format", "json", "log format: json or text")
	f.BoolVar(&o.Log.FailureReasons, "log-failure-reasons", false, "log the first line of the error of a function that fails, which may quote the package")
}

// advancedFlags adds the flags that few users need.
func (o *Options) advancedFlags(f *pflag.FlagSet) {
	f.Int64Var(&o.Limits.MaxBytesInFlight, "max-bytes-in-flight", 0, "maximum total size in bytes of the requests of all calls; up to a thousand further calls wait in order; 0 means a sixth of the heap limit, which is GOMEMLIMIT or 40% of the cgroup's memory limit")
	f.StringVar(&o.Pod.ImageForm, "pod-image-form", ImageFormDigest, "how function pods name their image: digest, or reference, which is the name as it was called; the node then asks the registry at each start of a pod")
	f.StringVar(&o.Images.Kept, "image-cache-file", "", "path of a file that keeps image metadata across restarts; empty keeps it in memory only")
}
