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

// issued is a certificate of this function runner, and how long it held when it was made.
type issued struct {
	certificate *tls.Certificate
	lifetime    time.Duration
}

// Credentials returns what secures connections to a pod that trusts some authorities. Each handshake uses a certificate that has a
// third of its lifetime left.
func (k *Keeper) Credentials(trusted []string) credentials.TransportCredentials {
	return &podCredentials{inTLS, k, trusted}
}

// inTLS says what connections to all pods have in common. They are made with configurations of their own.
var inTLS = credentials.NewTLS(nil)

type podCredentials struct {
	credentials.TransportCredentials
	keeper  *Keeper
	trusted []string
}

func (c *podCredentials) Clone() credentials.TransportCredentials { return c }

// ClientHandshake secures a connection. The pod proves nothing: it has no secret that a function in it could not use. Requests name the
// pod and the function that they are meant for, and are answered by no other wrapper server.
func (c *podCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	certificate, err := c.keeper.certificate(c.trusted)
	if err != nil {
		return nil, nil, err
	}
	secured, info, err := credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, //nolint:gosec // G402: there is nothing that could be verified
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil },
		// Each record is a write of its own. Small ones come sooner over slow links, which the network of pods is not.
		DynamicRecordSizingDisabled: true,
	}).ClientHandshake(ctx, authority, conn)
	if err != nil {
		c.keeper.noteRefused(ctx)
		return nil, nil, fmt.Errorf("the TLS handshake with the wrapper server failed: %w", err)
	}
	return secured, info, nil
}

// certificate returns a certificate of the first of some authorities that is known.
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
			if fingerprint(a.anchor) != name || now.After(a.certificate.NotAfter) {
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

// Measure makes metrics, before Run:
//
//   - krm_function_pod_handshakes_failed: TLS handshakes with function pods that failed
//   - krm_function_pod_authority_expiry_seconds: when the newest certificate authority expires, in seconds since the epoch
func (k *Keeper) Measure(meter metric.Meter) error {
	var err error
	k.refused, err = meter.Int64Counter("krm_function_pod_handshakes_failed", metric.WithDescription("TLS handshakes with function pods that failed."))
	if err != nil {
		return err
	}
	_, err = meter.Int64ObservableGauge("krm_function_pod_authority_expiry_seconds",
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
