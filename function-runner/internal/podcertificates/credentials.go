// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podcertificates

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc/credentials"
)

// issued is a client certificate of this function runner, and its lifetime when it was issued.
type issued struct {
	certificate *tls.Certificate
	lifetime    time.Duration
}

// Credentials returns transport credentials for a pod that trusts the given authorities, by fingerprint. Each handshake uses a
// certificate with at least a third of its lifetime left, if the authority can issue one.
func (k *Keeper) Credentials(trusted []string) credentials.TransportCredentials {
	return &podCredentials{inTLS, k, trusted}
}

// inTLS provides the methods that do not depend on the pod. Each handshake has its own TLS configuration.
var inTLS = credentials.NewTLS(nil)

type podCredentials struct {
	credentials.TransportCredentials
	keeper  *Keeper
	trusted []string
}

func (c *podCredentials) Clone() credentials.TransportCredentials { return c }

// ClientHandshake runs the TLS handshake. It does not verify the pod's certificate, because the function in a pod could use any secret of
// the pod. Instead, requests name the pod and the function that they are addressed to, and wrapper servers reject requests for others.
func (c *podCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	certificate, err := c.keeper.certificate(c.trusted)
	if err != nil {
		return nil, nil, err
	}
	secured, info, err := credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, //nolint:gosec // G402: there is nothing that could be verified
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil },
		// Each record is a separate write. Small records help only on slow links, and the pod network is fast.
		DynamicRecordSizingDisabled: true,
	}).ClientHandshake(ctx, authority, conn)
	if err != nil {
		c.keeper.noteRefused(ctx)
		return nil, nil, fmt.Errorf("the TLS handshake with the wrapper server failed: %w", err)
	}
	return secured, info, nil
}

// certificate returns a certificate of the first trusted authority that is known.
func (k *Keeper) certificate(trusted []string) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	for _, name := range trusted {
		held, ok := k.issued[name]
		if ok && now.Before(held.certificate.Leaf.NotAfter.Add(-held.lifetime/3)) {
			return held.certificate, nil
		}
		for _, a := range k.authorities {
			if a.anchor != name || now.After(a.certificate.NotAfter) {
				continue
			}
			made, err := a.issue(k.config.Lifetime)
			if err != nil {
				return nil, err
			}
			k.issued[name] = issued{made, time.Until(made.Leaf.NotAfter)}
			return made, nil
		}
		if ok && now.Before(held.certificate.Leaf.NotAfter) {
			return held.certificate, nil
		}
	}
	select {
	case k.wanted <- struct{}{}:
	default:
	}
	return nil, fmt.Errorf("the pod trusts the certificate authorities %s, none of which is in Secret %s: delete the pod if it was made before the Secret",
		strings.Join(trusted, ", "), k.name())
}

// Measure registers metrics. Call it before Run:
//
//   - krm_function_pod_handshakes_failed: TLS handshakes with function pods that failed
//   - krm_function_pod_authority_expiry_timestamp_seconds: when the newest certificate authority expires, in seconds since the epoch
func (k *Keeper) Measure(meter metric.Meter) error {
	var err error
	k.refused, err = meter.Int64Counter("krm_function_pod_handshakes_failed", metric.WithDescription("TLS handshakes with function pods that failed."))
	if err != nil {
		return err
	}
	_, err = meter.Int64ObservableGauge("krm_function_pod_authority_expiry_timestamp_seconds",
		metric.WithDescription("When the newest certificate authority for function pods expires, in seconds since the epoch."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			k.mu.Lock()
			defer k.mu.Unlock()
			if len(k.authorities) > 0 {
				o.Observe(k.authorities[0].certificate.NotAfter.Unix())
			}
			return nil
		}))
	return err
}

func (k *Keeper) noteRefused(ctx context.Context) {
	if k.refused != nil {
		k.refused.Add(context.WithoutCancel(ctx), 1)
	}
}
