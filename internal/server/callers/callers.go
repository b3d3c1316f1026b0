// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package callers authorises clients of a gRPC server: clients with certificates, and service accounts with tokens of a
// Kubernetes cluster.
package callers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/server/certificates"
)

// minLogInterval is the minimum time between two log lines about rejected callers.
const minLogInterval = time.Second

// Values of the metric's attribute "reason".
const (
	// anonymous: the caller has neither a certificate nor a token.
	anonymous = "anonymous"
	// otherClient: the caller has a certificate that --allowed-clients does not name.
	otherClient = "certificate"
	// badToken: the cluster does not accept the caller's token for the audience.
	badToken = "token"
	// otherAccount: the caller's token is for a service account that --allowed-service-accounts does not name.
	otherAccount = "service-account"
	// unknown: the token could not be checked.
	unknown = "lookup-failed"
)

// refusal says why a caller is rejected.
type refusal struct {
	code   codes.Code
	reason string
	text   string
}

// Gate authorises callers. Safe for concurrent use.
type Gate struct {
	flags    Flags
	tokens   *tokens
	log      *slog.Logger
	logLimit rate.Sometimes
	refused  metric.Int64Counter
}

// New returns a gate with the flags' rules. It counts rejected calls in the metric krm_calls_refused, by reason. reviewer
// checks tokens; it may be nil if the flags have no audience.
func New(f Flags, reviewer Reviewer, provider metric.MeterProvider, log *slog.Logger) (*Gate, error) {
	counter, err := provider.Meter("github.com/krmfn/krmfn/internal/server/callers").
		Int64Counter("krm_calls_refused", metric.WithDescription("Calls of unauthorized callers."))
	if err != nil {
		return nil, fmt.Errorf("register the metrics: %w", err)
	}
	g := &Gate{flags: f, log: log, refused: counter, logLimit: rate.Sometimes{First: 1, Interval: minLogInterval}}
	if f.Audience != "" {
		if reviewer == nil {
			return nil, errors.New("--token-audience needs a Kubernetes cluster to check tokens")
		}
		g.tokens = newTokens(reviewer, f.Audience)
	}
	return g, nil
}

// Permit returns nil if the caller may call the method, or else a status error. It may send a request to the Kubernetes API
// server.
func (g *Gate) Permit(ctx context.Context, method string) error {
	refused := g.authorize(ctx)
	if refused == nil {
		return nil
	}
	g.refused.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", refused.reason)))
	g.logLimit.Do(func() {
		address := ""
		if p, ok := peer.FromContext(ctx); ok {
			address = p.Addr.String()
		}
		g.log.WarnContext(ctx, "a call was refused", "method", method, "client", address, "reason", refused.reason, "err", refused.text)
	})
	return status.Error(refused.code, refused.text)
}

// authorize authorises a caller by its certificate, or else by its token.
func (g *Gate) authorize(ctx context.Context) *refusal {
	byCertificate := g.certificate(ctx)
	if byCertificate == nil || g.tokens == nil {
		return byCertificate
	}
	text := bearer(ctx)
	if text == "" {
		if byCertificate.reason == anonymous {
			byCertificate.text = "the caller is not authenticated: send a token for the audience " + g.flags.Audience
		}
		return byCertificate
	}
	return g.token(ctx, text)
}

func (g *Gate) certificate(ctx context.Context) *refusal {
	names, ok := verified(ctx)
	switch {
	case !ok:
		return &refusal{codes.Unauthenticated, anonymous, "the caller is not authenticated: present a client certificate"}
	case len(g.flags.Clients) == 0 || matchesAny(g.flags.Clients, names):
		return nil
	}
	text := fmt.Sprintf("the client certificate for %s may not call: it is not in --allowed-clients", strings.Join(names, ", "))
	return &refusal{codes.PermissionDenied, otherClient, text}
}

// verified returns the names in the client certificate. ok is false without one. The TLS handshake has verified the
// certificate.
func verified(ctx context.Context) (names []string, ok bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, false
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.PeerCertificates) == 0 {
		return nil, false
	}
	return certificates.Names(info.State.PeerCertificates[0]), true
}

func (g *Gate) token(ctx context.Context, text string) *refusal {
	account, err := g.tokens.account(ctx, text)
	switch {
	case errors.As(err, new(*invalidTokenError)):
		return &refusal{codes.Unauthenticated, badToken, err.Error()}
	case err != nil:
		return &refusal{codes.Unavailable, unknown, fmt.Sprintf("the caller's token could not be checked: %v", err)}
	case matchesAny(g.flags.ServiceAccounts, []string{account}):
		return nil
	}
	text = fmt.Sprintf("the service account %s may not call: it is not in --allowed-service-accounts", account)
	return &refusal{codes.PermissionDenied, otherAccount, text}
}

// bearer returns the bearer token of a call, or "".
func bearer(ctx context.Context) string {
	headers := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(headers) != 1 {
		return ""
	}
	scheme, text, ok := strings.Cut(headers[0], " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(text)
}

// matchesAny reports whether any pattern matches any name. A trailing * matches any suffix.
func matchesAny(patterns, names []string) bool {
	for _, name := range names {
		for _, pattern := range patterns {
			if prefix, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasPrefix(name, prefix) || pattern == name {
				return true
			}
		}
	}
	return false
}
