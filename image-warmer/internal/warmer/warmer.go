// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package warmer does what the image warmer is for, one part after another: it finds the images, resolves them, publishes
// their metadata and has nodes pull them.
package warmer

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/krmfn/krmfn/image-warmer/internal/images"
	"github.com/krmfn/krmfn/image-warmer/internal/prepull"
	"github.com/krmfn/krmfn/image-warmer/internal/publish"
	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/image-warmer/options"
	"github.com/krmfn/krmfn/internal/cluster/client"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
)

// Config is what a run needs.
type Config struct {
	Options options.Options
	// Cluster is nil where the options need none.
	Cluster *Cluster
	// Policy says which images may be warmed; nil permits all.
	Policy *policy.Policy
	// OwnNamespace is where metadata goes if the options do not say.
	OwnNamespace string
	// Run names this run among others, as the value of a label.
	Run string
	// Nodes are the names of the only nodes that pull; nil means all that the options choose.
	Nodes []string
	// Metrics counts what the run does; nil counts nothing.
	Metrics *Metrics
	// Keychain has the credentials for registries that have none by the options; nil means those of Docker's or Podman's
	// configuration.
	Keychain authn.Keychain
	// Environ is the environment of credential helpers.
	Environ []string
	// Stdout gets the metadata, if that is asked for.
	Stdout io.Writer
	Log    *slog.Logger
}

// Cluster has what a run uses of a cluster.
type Cluster struct {
	Version injection.Cluster
	Nodes   client.Watchable[*corev1.NodeList]
	// Pods are those of Options.Namespace, and ConfigMaps those of Config.MetadataNamespace.
	Pods       prepull.Pods
	ConfigMaps publish.ConfigMaps
	Dynamic    dynamic.Interface
}

// NewCluster returns the cluster of a configuration. It sends no request.
func (c *Config) NewCluster(config *rest.Config) (*Cluster, error) {
	cluster, err := client.New(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	core := corev1.SchemeGroupVersion
	return &Cluster{
		Version: cluster, Dynamic: objects,
		Nodes:      client.Of(cluster, core, "nodes", "", &corev1.Node{}, &corev1.NodeList{}),
		Pods:       client.Of(cluster, core, "pods", c.Options.Namespace, &corev1.Pod{}, &corev1.PodList{}),
		ConfigMaps: client.Of(cluster, core, "configmaps", c.MetadataNamespace(), &corev1.ConfigMap{}, &corev1.ConfigMapList{}),
	}, nil
}

// MetadataNamespace returns the namespace of the ConfigMap that metadata goes to.
func (c *Config) MetadataNamespace() string {
	return cmp.Or(c.Options.Metadata.Namespace, c.OwnNamespace)
}

// Run does it all, and ends early when the context ends. Whatever fails is in the report, and does not keep the rest from
// being done.
func Run(ctx context.Context, c Config) *report.Report {
	start := time.Now()
	r := &run{Config: c}
	client, done := r.registries()
	defer done()
	ctx, cancel := context.WithTimeoutCause(ctx, c.Options.Timeout, fmt.Errorf("the %v of --timeout are over", c.Options.Timeout))
	defer cancel()
	found := r.collect(ctx, client)
	results := r.resolve(ctx, permitted{client, c.Policy}, found.References)
	for _, one := range results {
		if one.err == nil {
			r.resolved = append(r.resolved, one.image)
		}
	}
	r.images(results, r.publish(ctx, found))
	if c.Options.Prepull.Enabled {
		r.prepull(ctx)
	}
	r.report.Seconds = time.Since(start).Seconds()
	c.Metrics.done(ctx, &r.report, c.Nodes == nil)
	return &r.report
}

type run struct {
	Config
	resolved []registry.Image
	report   report.Report
}

// objects returns the way to objects that name images; nil without a cluster.
func (r *run) objects() dynamic.Interface {
	if r.Cluster == nil {
		return nil
	}
	return r.Cluster.Dynamic
}

func (r *run) collect(ctx context.Context, client *registry.Client) images.Found {
	o := &r.Options
	found := images.Collect(ctx, images.Config{
		Sources: o.Sources, Cluster: r.objects(), Namespace: o.Namespace, Prefix: o.DefaultImagePrefix, Rewrites: o.Rewrites,
		Tags: client, Parallel: o.Resolve.Parallel, Timeout: o.Resolve.Timeout,
	})
	r.report = report.Report{DryRun: o.DryRun, Notes: found.Notes, Failures: found.Failures}
	return found
}

// publish writes the metadata and returns the references whose metadata is of an earlier run.
func (r *run) publish(ctx context.Context, found images.Found) []string {
	o := &r.Options
	write := (&publish.File{Name: o.Metadata.File, Stdout: r.Stdout, DryRun: o.DryRun, Log: r.Log}).Publish
	switch {
	case o.Publishes():
		write = (&publish.ConfigMap{
			Client: r.Cluster.ConfigMaps, Namespace: r.MetadataNamespace(), Name: o.Metadata.ConfigMap, DryRun: o.DryRun, Log: r.Log,
		}).Publish
	case o.Metadata.File == "":
		return nil
	}
	outcome, err := write(ctx, publish.Metadata{Resolved: r.resolved, Listed: found.References, Complete: found.Complete})
	if err != nil {
		r.report.Fail("", "", err)
		return nil
	}
	r.report.Metadata = &outcome
	return outcome.Kept
}
