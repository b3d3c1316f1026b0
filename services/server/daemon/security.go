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

	"github.com/krmfn/krmfn/services/cluster/client"
	"github.com/krmfn/krmfn/services/cluster/connect"
	"github.com/krmfn/krmfn/services/server/callers"
	"github.com/krmfn/krmfn/services/server/certificates"
	"github.com/krmfn/krmfn/services/server/grpcserver"
	"github.com/krmfn/krmfn/services/server/telemetry"
)

// Security is how connections to a server are secured, and who may call. The zero value is neither.
type Security struct {
	TLS     certificates.ServerFlags
	Callers callers.Flags
	// Kubeconfig is a file that names the cluster that checks tokens; empty means the usual places.
	Kubeconfig string
}

// secured is security whose certificates have been read. The server is nil without TLS.
type secured struct {
	Security
	server *certificates.Server
}

func (s Security) load(log *slog.Logger) (secured, error) {
	if !s.TLS.Enabled() {
		return secured{Security: s}, nil
	}
	// Whoever sends a token needs no certificate.
	server, err := certificates.NewServer(s.TLS, s.Callers.Audience != "", log)
	return secured{s, server}, err
}

// https returns how metrics are served; nil for HTTP.
func (s secured) https() *tls.Config {
	if s.server == nil {
		return nil
	}
	return s.server.Config("h2", "http/1.1")
}

// guard returns what the gRPC server needs.
func (s secured) guard(ctx context.Context, name string, exporters *telemetry.Telemetry, log *slog.Logger) (grpcserver.Guard, error) {
	var g grpcserver.Guard
	if s.server != nil {
		if err := s.server.Measure(exporters.Metrics, func(changed bool, err error) { exporters.Reloads.Record("tls", changed, err) }); err != nil {
			return g, fmt.Errorf("make the metrics: %w", err)
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

// reviewer returns what checks tokens; nil where they do not count.
func (s secured) reviewer(name string) (callers.Reviewer, error) {
	if s.Callers.Audience == "" {
		return nil, nil //nolint:nilnil // there is nothing to check
	}
	config, err := connect.Config(s.Kubeconfig, name)
	if err != nil {
		return nil, fmt.Errorf("find the Kubernetes API server that checks tokens: %w", err)
	}
	cluster, err := client.New(config)
	if err != nil {
		return nil, fmt.Errorf("use the Kubernetes API server that checks tokens: %w", err)
	}
	// TokenReviews are not listed.
	return client.Of(cluster, authenticationv1.SchemeGroupVersion, "tokenreviews", "", &authenticationv1.TokenReview{}, &metav1.List{}), nil
}
