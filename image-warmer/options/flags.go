// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Flags returns the flags that set o, and sets o to their defaults.
func (o *Options) Flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("image-warmer", pflag.ContinueOnError)
	f.SortFlags = false
	o.sourceFlags(f)
	flags.Group(f, "Images")
	o.runFlags(f)
	flags.Group(f, "Runs")
	o.lookupFlags(f)
	flags.Group(f, "Lookups")
	o.metadataFlags(f)
	flags.Group(f, "Metadata")
	o.prepullFlags(f)
	flags.Group(f, "Pulls")
	o.registryFlags(f)
	flags.Group(f, "Registries")
	f.IntVar(&o.Log.Level, "log-level", 1, "log verbosity: 0 for errors, 1 for warnings, 2 and 3 for one line per image and pull, 4 and above for debugging")
	f.StringVar(&o.Log.Format, "log-format", "text", "log format: json or text")
	flags.Group(f, "Logging")
	return f
}

func (o *Options) sourceFlags(f *pflag.FlagSet) {
	s := &o.Sources
	f.StringArrayVar(&s.Images, "image", nil, "image to warm, as callers name it; may be repeated; equivalent to an argument")
	f.StringVar(&s.PodCacheConfig, "pod-cache-config", "", "path of the function runner's file with settings of functions; warms the image of each")
	f.BoolVar(&s.FunctionConfigs, "function-configs", false, "warm the images of FunctionConfig objects in --namespace")
	f.StringArrayVar(&s.Kptfiles, "kptfiles", nil, "directory with packages at any depth; warms the images of their pipelines; may be repeated")
	f.StringVar(&o.DefaultImagePrefix, "default-image-prefix", reference.CatalogPrefix+"/", "prefix for images without a slash")
	f.Var(&o.Rewrites, "image-rewrite", "rule FROM=TO that replaces the prefix FROM of images by TO, for example a mirror's; may be repeated; must equal the function runner's")
	f.StringVar(&o.Policy, "image-policy", "", "path of the function runner's image policy; skips other images; empty permits all images")
}

func (o *Options) runFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Namespace, "namespace", "porch-fn-system", "namespace of the function pods, in which the pods that pull are created")
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "path of a kubeconfig file; empty means KUBECONFIG, the in-cluster configuration, or ~/.kube/config, in this order")
	f.DurationVar(&o.Timeout, "timeout", time.Hour, "maximum duration of one run; images that are not done by then fail")
	f.BoolVar(&o.Watch, "watch", false, "keep running: warm at the start, again each --interval, and nodes that join or recover at once")
	f.DurationVar(&o.Interval, "interval", 6*time.Hour, "with --watch, time between two runs for all images and nodes; failures are retried after a minute, then less and less often up to this interval")
	f.BoolVar(&o.DryRun, "dry-run", false, "report what would be done, and change nothing")
	f.StringVar(&o.Output, "format", "table", "format of the report on standard output: table or json")
}

func (o *Options) lookupFlags(f *pflag.FlagSet) {
	f.IntVar(&o.Resolve.Parallel, "max-parallel-lookups", 4, "maximum number of images to look up in parallel")
	f.DurationVar(&o.Resolve.Timeout, "lookup-timeout", 30*time.Second, "timeout for looking up one image")
}

func (o *Options) metadataFlags(f *pflag.FlagSet) {
	m := &o.Metadata
	f.StringVar(&m.ConfigMap, "metadata-configmap", "krmfn-image-metadata", "name of the ConfigMap to write metadata to, for function runners to mount; empty means none")
	f.StringVar(&m.Namespace, "metadata-namespace", "", "namespace of --metadata-configmap; empty means the pod's own namespace, or porch-system outside a cluster")
	f.StringVar(&m.File, "metadata-file", "", "path of a file to write metadata to instead of a ConfigMap; - means standard output, and moves the report to standard error")
}

func (o *Options) prepullFlags(f *pflag.FlagSet) {
	p := &o.Prepull
	f.BoolVar(&p.Enabled, "prepull", false, "pull the images on every node")
	f.Lookup("prepull").DefValue = "true inside a cluster"
	f.StringVar(&p.WrapperImage, "wrapper-image", "", "image of the wrapper server; empty means the value of the environment variable "+wrapperImageVariable)
	f.StringVar((*string)(&p.Injection), "wrapper-injection", string(injection.Auto), "how the wrapper server gets into pods: image-volume, init-container, or auto, which uses image volumes if the cluster supports them; image volumes run nothing of an image")
	f.StringVar(&p.NodeSelector, "node-selector", "", "label selector of the nodes that pull, as in kubectl; empty means all nodes")
	f.Var(&tolerations{all: &p.Tolerations}, "toleration", "taint to tolerate, key[=value][:effect]; may be repeated")
	f.StringArrayVar(&p.PullSecrets, "image-pull-secret", nil, "name of a Secret in --namespace that pods pull images with; may be repeated")
	f.StringVar(&p.User, "pod-user", functionpod.UserNobody, "user of the pods by which nodes pull: nobody, which is 65534, or assigned, which leaves the choice to the cluster, as OpenShift requires")
	f.IntVar(&p.MaxParallel, "max-parallel-pulls", 4, "maximum number of pulls in parallel")
	f.IntVar(&p.MaxPerNode, "max-parallel-pulls-per-node", 1, "maximum number of pulls in parallel on one node; by default, a kubelet pulls one image at a time")
	f.DurationVar(&p.Timeout, "pull-timeout", 10*time.Minute, "timeout of one pull; pods of earlier runs that are older are deleted")
}

func (o *Options) registryFlags(f *pflag.FlagSet) {
	r := &o.Registry
	f.BoolVar(&r.Private, "enable-private-registries", false, "use the credentials in --registry-auth-secret-path, and pull with the Secret --registry-auth-secret-name")
	f.StringVar(&r.AuthPath, "registry-auth-secret-path", "/var/tmp/config-secret/.dockerconfigjson", "path of a Docker config file with registry credentials")
	f.StringVar(&r.AuthSecret, "registry-auth-secret-name", "auth-secret", "name of the pull secret that the function runner maintains in --namespace")
	f.BoolVar(&r.TLS, "enable-private-registries-tls", false, "trust the CA certificates in --tls-secret-path")
	f.StringVar(&r.TLSPath, "tls-secret-path", "/var/tmp/tls-secret/", "directory that contains ca.crt or ca.pem")
}
