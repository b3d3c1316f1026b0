// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/krmfn/krmfn/internal/server/certificates"
	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
)

// While the certificates of both sides and their authority are replaced in the documented order, no call of an allowed client fails. Then
// the function runner rejects new connections with certificates of the old authority. A connection from before stays usable until its
// maximum age.
func TestAuthorityIsReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	before, after := certificatestest.New(t, "before"), certificatestest.New(t, "after")
	both := slices.Concat(before.PEM, after.PEM)
	own := newMount(t, issue(t, before, before.PEM, "127.0.0.1"))
	files := own.certificates()
	runner, _ := startRunner(t, "--tls-cert-file="+files.Certificate, "--tls-key-file="+files.Key, "--client-ca-file="+files.Authorities,
		"--allowed-clients=spiffe://test/*")
	defer stop(t, runner)

	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	clients := make([]*tlsClient, 3)
	for i := range clients {
		clients[i] = newTLSClient(t, runner.Addr, newMount(t, issue(t, before, before.PEM, "spiffe://test/client")))
		running.Go(func() { clients[i].run(ctx, t, clients[i].callOnce) })
	}
	lasting := newTLSClient(t, runner.Addr, newMount(t, issue(t, before, before.PEM, "spiffe://test/lasting")))
	conn, err := grpc.NewClient(runner.Addr, lasting.options...)
	check(t, err)
	defer conn.Close() //nolint:errcheck // nothing to lose
	running.Go(func() { lasting.run(ctx, t, func(ctx context.Context) error { return echo(ctx, conn) }) })
	defer running.Wait()
	defer cancel()
	eventually(t, "the lasting client is connected", func() bool { return lasting.calls.Load() > 0 })

	old := newTLSClient(t, runner.Addr, newMount(t, issue(t, before, both, "spiffe://test/old")))
	trustsNew := newTLSClient(t, runner.Addr, newMount(t, issue(t, after, after.PEM, "spiffe://test/new")))
	trustsBoth := newTLSClient(t, runner.Addr, newMount(t, issue(t, after, both, "spiffe://test/new")))
	accepted := func(c *tlsClient) func() bool { return func() bool { return c.callOnce(ctx) == nil } }

	// 1: both authorities are trusted.
	own.update(t, map[string][]byte{"ca.crt": both})
	for _, c := range clients {
		c.files.update(t, map[string][]byte{"ca.crt": both})
	}
	eventually(t, "certificates of the new authority are accepted", accepted(trustsBoth))
	awaitReloads(t, clients, 1)
	// 2: certificates are renewed.
	own.update(t, pair(t, after, "127.0.0.1"))
	for _, c := range clients {
		c.files.update(t, pair(t, after, "spiffe://test/client"))
	}
	eventually(t, "the function runner has the new certificate", accepted(trustsNew))
	awaitReloads(t, clients, 2)
	if err := old.callOnce(ctx); err != nil {
		t.Errorf("call with a certificate of the old authority, which is still trusted: %v", err)
	}
	// 3: the old authority is removed.
	own.update(t, map[string][]byte{"ca.crt": after.PEM})
	for _, c := range clients {
		c.files.update(t, map[string][]byte{"ca.crt": after.PEM})
	}
	eventually(t, "certificates of the old authority are rejected", func() bool {
		err := old.callOnce(ctx)
		return err != nil && strings.Contains(err.Error(), "it does not trust the authority that signed the certificate")
	})
	awaitReloads(t, clients, 3)

	made := lasting.calls.Load()
	eventually(t, "a connection from before is usable", func() bool { return lasting.calls.Load() > made+1 })
	for _, c := range clients {
		made := c.calls.Load()
		eventually(t, "clients call on", func() bool { return c.calls.Load() > made+1 })
	}
}

// tlsClient calls a function runner over TLS.
type tlsClient struct {
	address string
	files   *mount
	options []grpc.DialOption
	// reloads is the number of changes of the files that the client has noticed. calls is the number of calls that succeeded.
	reloads reloadCounter
	calls   atomic.Int64
}

func newTLSClient(t *testing.T, address string, files *mount) *tlsClient {
	t.Helper()
	c := &tlsClient{address: address, files: files, reloads: reloadCounter{Handler: slog.DiscardHandler}}
	flags := certificates.ClientFlags{Files: files.certificates()}
	var err error
	c.options, err = flags.DialOptions(address, slog.New(&c.reloads))
	check(t, err)
	return c
}

// run calls once until ctx ends, and fails the test after an error.
func (c *tlsClient) run(ctx context.Context, t *testing.T, once func(context.Context) error) {
	t.Helper()
	for ctx.Err() == nil {
		if err := once(ctx); err == nil {
			c.calls.Add(1)
		} else if ctx.Err() == nil {
			t.Errorf("call of a permitted client: %v", err)
			return
		}
	}
}

// callOnce connects, and calls a function.
func (c *tlsClient) callOnce(ctx context.Context) error {
	conn, err := grpc.NewClient(c.address, c.options...)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing to lose
	return echo(ctx, conn)
}

func echo(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err := call(ctx, evaluatorgrpc.NewFunctionEvaluatorClient(conn), "echo:v1", configMaps(1))
	return err
}

func awaitReloads(t *testing.T, clients []*tlsClient, want int64) {
	t.Helper()
	for _, c := range clients {
		eventually(t, "clients have read their files again", func() bool { return c.reloads.count.Load() >= want })
	}
}

// reloadCounter counts the log lines about reloaded certificates.
type reloadCounter struct {
	slog.Handler
	count atomic.Int64
}

func (*reloadCounter) Enabled(context.Context, slog.Level) bool { return true }

func (c *reloadCounter) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "reloaded certificates" {
		c.count.Add(1)
	}
	return nil
}

// pair returns a new certificate and its key.
func pair(t *testing.T, a *certificatestest.Authority, name string) map[string][]byte {
	t.Helper()
	certificate, key := a.Issue(t, 2*time.Hour, name)
	return map[string][]byte{"tls.crt": certificate, "tls.key": key}
}

// issue returns the content of a Secret with a new certificate and the authorities that its holder trusts.
func issue(t *testing.T, a *certificatestest.Authority, trusted []byte, name string) map[string][]byte {
	t.Helper()
	files := pair(t, a, name)
	files["ca.crt"] = trusted
	return files
}
