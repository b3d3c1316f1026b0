// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package client creates typed clients of the Kubernetes API server for single kinds of objects. A program links only the API
// groups of these kinds, whereas client-go's clientset links all API groups, which are more than 10 MB.
package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Cluster is an API server. All clients created with a Cluster share its connections and its rate limit. Safe for concurrent
// use.
type Cluster struct {
	// Interface sends requests to any path. It decodes JSON responses about the API, such as lists of resources.
	rest.Interface

	config *rest.Config
	http   *http.Client
}

// New returns the API server of a client configuration. It sends no request.
func New(config *rest.Config) (*Cluster, error) {
	c := &Cluster{config: rest.CopyConfig(config)}
	if c.config.RateLimiter == nil && c.config.QPS > 0 {
		c.config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(c.config.QPS, c.config.Burst)
	}
	var err error
	if c.http, err = rest.HTTPClientFor(c.config); err != nil {
		return nil, err
	}
	untyped := rest.CopyConfig(c.config)
	untyped.ContentType, untyped.AcceptContentTypes = runtime.ContentTypeJSON, ""
	c.Interface, err = c.rest(untyped, schema.GroupVersion{Version: "v1"}, runtime.NewScheme())
	return c, err
}

// rest returns a client for one version of an API group. scheme has the types of its objects.
func (c *Cluster) rest(config *rest.Config, version schema.GroupVersion, scheme *runtime.Scheme) (*rest.RESTClient, error) {
	metav1.AddToGroupVersion(scheme, version)
	config.GroupVersion, config.APIPath = &version, "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, c.http)
}

// versionTimeout is the maximum duration of a version request.
const versionTimeout = 32 * time.Second

// ServerVersionWithContext returns the API server's version.
func (c *Cluster) ServerVersionWithContext(ctx context.Context) (*version.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	body, err := c.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	var info version.Info
	if err := json.Unmarshal(body, &info); err != nil {
		return nil, fmt.Errorf("parse the version of the API server: %w", err)
	}
	return &info, nil
}
