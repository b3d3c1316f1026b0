// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package callers decides who may call a gRPC server: clients with certificates, and service accounts with tokens of a Kubernetes
// cluster.
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

	"github.com/krmfn/krmfn/services/server/certificates"
)

// logPause is the least time between two log lines about callers that are refused.
const logPause = time.Second

// Reasons of refusals, as the metric has them.
const (
	// anonymous callers have neither certificate nor token.
	anonymous = "anonymous"
	// otherClient has a certificate that --allowed-clients does not name.
	otherClient = "certificate"
	// badToken is a token that the cluster does not accept for the audience.
	badToken = "token"
	// otherAccount has a token, and --allowed-service-accounts does not name it.
	otherAccount = "service-account"
	// unknown callers could not be looked up.
	unknown = "lookup-failed"
)

// refusal is why a caller may not call.
type refusal struct {
	code   codes.Code
	reason string
	text   string
}

// Gate lets callers in. It may be used by any number of goroutines at once.
type Gate struct {
	flags   Flags
	tokens  *tokens
	log     *slog.Logger
	seldom  rate.Sometimes
	refused metric.Int64Counter
}

// New returns the gate that the flags ask for, which counts krm_calls_refused (reason). The reviewer is asked about tokens; it may
// be nil where the flags name no audience.
func New(f Flags, reviewer Reviewer, provider metric.MeterProvider, log *slog.Logger) (*Gate, error) {
	counter, err := provider.Meter("github.com/krmfn/krmfn/services/server/callers").
		Int64Counter("krm_calls_refused", metric.WithDescription("Calls that were refused because of who called."))
	if err != nil {
		return nil, fmt.Errorf("make the metrics: %w", err)
	}
	g := &Gate{flags: f, log: log, refused: counter, seldom: rate.Sometimes{First: 1, Interval: logPause}}
	if f.Audience != "" {
		if reviewer == nil {
			return nil, errors.New("--token-audience needs a cluster that checks tokens")
		}
		g.tokens = newTokens(reviewer, f.Audience)
	}
	return g, nil
}

// Permit returns nil for a caller who may call a method, or else a status. It may ask the cluster.
func (g *Gate) Permit(ctx context.Context, method string) error {
	refused := g.judge(ctx)
	if refused == nil {
		return nil
	}
	g.refused.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", refused.reason)))
	g.seldom.Do(func() {
		address := ""
		if p, ok := peer.FromContext(ctx); ok {
			address = p.Addr.String()
		}
		g.log.WarnContext(ctx, "a call was refused", "method", method, "client", address, "reason", refused.reason, "err", refused.text)
	})
	return status.Error(refused.code, refused.text)
}

// judge lets a caller in by its certificate, or else by its token.
func (g *Gate) judge(ctx context.Context) *refusal {
	byCertificate := g.certificate(ctx)
	if byCertificate == nil || g.tokens == nil {
		return byCertificate
	}
	text := bearer(ctx)
	if text == "" {
		if byCertificate.reason == anonymous {
			byCertificate.text = "the caller is not known: send a token for the audience " + g.flags.Audience
		}
		return byCertificate
	}
	return g.token(ctx, text)
}

func (g *Gate) certificate(ctx context.Context) *refusal {
	names, ok := verified(ctx)
	switch {
	case !ok:
		return &refusal{codes.Unauthenticated, anonymous, "the caller is not known: show a client certificate"}
	case len(g.flags.Clients) == 0 || matchesAny(g.flags.Clients, names):
		return nil
	}
	text := fmt.Sprintf("the client certificate for %s may not call: --allowed-clients names others", strings.Join(names, ", "))
	return &refusal{codes.PermissionDenied, otherClient, text}
}

// verified returns the names of the client's certificate, if it has shown one. The handshake has verified it.
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
	text = fmt.Sprintf("the service account %s may not call: --allowed-service-accounts names others", account)
	return &refusal{codes.PermissionDenied, otherAccount, text}
}

// bearer returns the token of a call, "" for none.
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

// matchesAny tells whether a pattern matches one of the names.
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
