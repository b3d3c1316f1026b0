// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/internal/cluster/client"
	"github.com/krmfn/krmfn/internal/cluster/connect"
	"github.com/krmfn/krmfn/internal/server/callers"
	"github.com/krmfn/krmfn/internal/server/certificates"
	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/internal/server/telemetry"
)

// Security secures the connections of a server and authorises its callers. The zero value does neither.
type Security struct {
	TLS     certificates.ServerFlags
	Callers callers.Flags
	// Kubeconfig is the kubeconfig file of the cluster that checks tokens; empty means the default locations.
	Kubeconfig string
}

// secured is a Security with loaded certificates. server is nil without TLS.
type secured struct {
	Security
	server *certificates.Server
}

func (s Security) load(log *slog.Logger) (secured, error) {
	if !s.TLS.Enabled() {
		return secured{Security: s}, nil
	}
	// Callers with a token need no certificate.
	server, err := certificates.NewServer(s.TLS, s.Callers.Audience != "", log)
	return secured{s, server}, err
}

// https returns the TLS configuration of the metrics server; nil means HTTP.
func (s secured) https() *tls.Config {
	if s.server == nil {
		return nil
	}
	return s.server.Config("h2", "http/1.1")
}

// guard returns the configuration of the gRPC server.
func (s secured) guard(ctx context.Context, name string, exporters *telemetry.Telemetry, log *slog.Logger) (grpcserver.Guard, error) {
	var g grpcserver.Guard
	if s.server != nil {
		if err := s.server.Measure(exporters.Metrics, func(changed bool, err error) { exporters.Reloads.Record("tls", changed, err) }); err != nil {
			return g, fmt.Errorf("register the metrics: %w", err)
		}
		g.Credentials = s.server.Credentials()
	}
	if s.Callers.Enabled(&s.TLS) {
		reviewer, err := s.reviewer(name)
		if err != nil {
			return g, err
		}
		gate, err := callers.New(s.Callers, reviewer, exporters.Metrics, log)
		if err != nil {
			return g, err
		}
		g.Permit = gate.Permit
	}
	if s.TLS.HealthPort == 0 {
		return g, nil
	}
	var err error
	if g.Health, err = new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(s.TLS.HealthPort)); err != nil {
		return g, fmt.Errorf("listen on --health-port: %w", err)
	}
	return g, nil
}

// reviewer returns the client for TokenReviews; nil if tokens are not accepted.
func (s secured) reviewer(name string) (callers.Reviewer, error) {
	if s.Callers.Audience == "" {
		return nil, nil //nolint:nilnil // tokens are not accepted
	}
	config, err := connect.Config(s.Kubeconfig, name)
	if err != nil {
		return nil, fmt.Errorf("configure the client of the Kubernetes API server for token reviews: %w", err)
	}
	cluster, err := client.New(config)
	if err != nil {
		return nil, fmt.Errorf("create the client of the Kubernetes API server for token reviews: %w", err)
	}
	// TokenReviews cannot be listed, so the list type does not matter.
	return client.Of(cluster, authenticationv1.SchemeGroupVersion, "tokenreviews", "", &authenticationv1.TokenReview{}, &metav1.List{}), nil
}
