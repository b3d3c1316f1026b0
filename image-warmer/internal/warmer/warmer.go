// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package warmer performs a run of the image warmer: it collects the images, looks them up, publishes their metadata, and makes nodes pull
// them.
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

// Config configures a run.
type Config struct {
	Options options.Options
	// Cluster may be nil if Options.NeedsCluster is false.
	Cluster *Cluster
	// Policy is the image policy. Nil permits all images.
	Policy *policy.Policy
	// OwnNamespace is the namespace of the ConfigMap if the options have none.
	OwnNamespace string
	// Run is the unique name of this run, a valid label value.
	Run string
	// Nodes restricts pulls to the nodes with these names. Nil means all nodes that the options select.
	Nodes []string
	// Metrics records the run. It may be nil.
	Metrics *Metrics
	// Keychain returns the credentials for registries without credentials in the options. Nil means the configuration of Docker or
	// Podman.
	Keychain authn.Keychain
	// Environ is the environment of credential helpers.
	Environ []string
	// Stdout receives the metadata if Options.Metadata.File is publish.StandardOutput.
	Stdout io.Writer
	Log    *slog.Logger
}

// Cluster has the clients of a run.
type Cluster struct {
	Version injection.Cluster
	Nodes   client.Watchable[*corev1.NodeList]
	// Pods is a client for Options.Namespace, and ConfigMaps a client for Config.MetadataNamespace.
	Pods       prepull.Pods
	ConfigMaps publish.ConfigMaps
	Dynamic    dynamic.Interface
}

// NewCluster returns the clients for a cluster. It sends no request.
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

// MetadataNamespace returns the namespace of the metadata's ConfigMap.
func (c *Config) MetadataNamespace() string {
	return cmp.Or(c.Options.Metadata.Namespace, c.OwnNamespace)
}

// Run performs a run, and ends early when the context ends. A failure of one step or image does not stop the others, and is in the report.
func Run(ctx context.Context, c Config) *report.Report {
	start := time.Now()
	r := &run{Config: c}
	client, done := r.registries()
	defer done()
	ctx, cancel := context.WithTimeoutCause(ctx, c.Options.Timeout, fmt.Errorf("the run exceeded its --timeout of %v", c.Options.Timeout))
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

// objects returns the client for FunctionConfig objects, or nil without a cluster.
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

// publish writes the metadata and returns the references whose metadata is from an earlier run.
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
