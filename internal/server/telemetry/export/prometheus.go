// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/krmfn/krmfn/internal/server/connections"
)

const (
	// maxConnections is the maximum number of connections, maxPerPeer the maximum from one address.
	maxConnections, maxPerPeer = 32, 8
	// maxHeaderBytes is the maximum size of a request's header.
	maxHeaderBytes = 16 << 10
)

// servePrometheus serves /metrics on OTEL_EXPORTER_PROMETHEUS_HOST and OTEL_EXPORTER_PROMETHEUS_PORT, with HTTPS if secure is not nil.
func servePrometheus(ctx context.Context, secure *tls.Config) (sdkmetric.Reader, error) {
	registry := prometheus.NewRegistry()
	reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(cmp.Or(strings.Trim(os.Getenv("OTEL_EXPORTER_PROMETHEUS_HOST"), "[]"), "localhost"), cmp.Or(os.Getenv("OTEL_EXPORTER_PROMETHEUS_PORT"), "9464"))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on the metrics port: %w", err), reader.Shutdown(ctx))
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
	listener = connections.Limit(listener, maxConnections, maxPerPeer, slog.Default())
	server := &http.Server{
		Handler: mux, TLSConfig: secure, MaxHeaderBytes: maxHeaderBytes, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	// The TLS handshake checks the client certificate. A connection that is kept alive could be used after the certificate has expired.
	server.SetKeepAlivesEnabled(secure == nil)
	r := &servedReader{Reader: reader, server: server, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		serve := server.Serve
		if secure != nil {
			serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
		}
		if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
			slog.Default().Warn("the metrics server failed", "address", address, "err", err)
		}
	}()
	return r, nil
}

// servedReader is a reader with its HTTP server.
type servedReader struct {
	sdkmetric.Reader
	server *http.Server
	done   chan struct{}
}

// Shutdown stops the server and the reader.
func (r *servedReader) Shutdown(ctx context.Context) error {
	err := errors.Join(r.server.Shutdown(ctx), r.Reader.Shutdown(ctx))
	<-r.done
	return err
}
