// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/server/callers"
	"github.com/krmfn/krmfn/internal/server/certificates"
	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/internal/server/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// jwt returns a token for an audience. The API server accepts it only if signature is "signed".
func jwt(audience, signature string) string {
	payload := fmt.Sprintf(`{"aud":[%q],"exp":%d}`, audience, time.Now().Add(time.Hour).Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + "." + signature
}

// apiServer starts an API server that accepts one token, as that of the service account namespace/name. It returns the path of
// a kubeconfig file.
func apiServer(t *testing.T, token string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/apis/authentication.k8s.io/v1/tokenreviews" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		review := map[string]any{"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "status": map[string]any{
			"authenticated": bytes.Contains(body, []byte(token)), "audiences": []string{"krmfn"},
			"user": map[string]any{"username": "system:serviceaccount:namespace:name"},
		}}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	return certificatestest.Write(t, t.TempDir(), "kubeconfig", []byte(`{kind: Config, apiVersion: v1, current-context: a,
  clusters: [{name: a, cluster: {server: "`+server.URL+`"}}], contexts: [{name: a, context: {cluster: a}}]}`))
}

// A server with all security settings authorises callers by certificates and by tokens, and answers kubelets in plain text.
func TestSecurity(t *testing.T) {
	t.Parallel()
	authority := certificatestest.New(t, "authority")
	trusted := certificatestest.Write(t, t.TempDir(), "ca.crt", authority.PEM)
	own, ownKey := authority.Pair(t, t.TempDir(), 2*time.Hour, "127.0.0.1")
	good, goodKey := authority.Pair(t, t.TempDir(), 2*time.Hour, "spiffe://test/caller")
	other, otherKey := authority.Pair(t, t.TempDir(), 2*time.Hour, "spiffe://other/caller")
	token := jwt("krmfn", "signed")
	log := slog.New(slog.DiscardHandler)
	security := Security{
		TLS: certificates.ServerFlags{Files: certificates.Files{Certificate: own, Key: ownKey, Authorities: trusted}, MinVersion: "1.3"},
		Callers: callers.Flags{
			Clients: []string{"spiffe://test/*"}, Audience: "krmfn", ServiceAccounts: []string{"namespace/name"},
		},
		Kubeconfig: apiServer(t, token),
	}
	loaded, err := security.load(log)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := loaded.guard(t.Context(), "test", &telemetry.Telemetry{Metrics: noop.NewMeterProvider()}, log)
	if err != nil {
		t.Fatal(err)
	}
	listen := func() net.Listener {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return listener
	}
	guard.Health = listen()
	listener := listen()
	ctx, stop := context.WithCancel(t.Context())
	server := grpcserver.New(ctx, grpcserver.Options{MaxMessageSize: 1000, Drain: time.Second, Logger: log, Guard: guard})
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	address := listener.Addr().String()
	file := func(text string) string { return certificatestest.Write(t, t.TempDir(), "token", []byte(text)) }
	for name, tc := range map[string]struct {
		client certificates.ClientFlags
		code   codes.Code
		want   string
	}{
		"a certificate":          {certificates.ClientFlags{Files: certificates.Files{Certificate: good, Key: goodKey}}, codes.OK, ""},
		"another certificate":    {certificates.ClientFlags{Files: certificates.Files{Certificate: other, Key: otherKey}}, codes.PermissionDenied, "spiffe://other/caller may not call"},
		"a token":                {certificates.ClientFlags{TokenFile: file(token)}, codes.OK, ""},
		"bad certificate, token": {certificates.ClientFlags{Files: certificates.Files{Certificate: other, Key: otherKey}, TokenFile: file(token)}, codes.OK, ""},
		"a forged token":         {certificates.ClientFlags{TokenFile: file(jwt("krmfn", "forged"))}, codes.Unauthenticated, "does not accept it"},
		"another audience":       {certificates.ClientFlags{TokenFile: file(jwt("api", "signed"))}, codes.Unauthenticated, "it is not for the audience krmfn"},
		"neither":                {certificates.ClientFlags{}, codes.Unauthenticated, "send a token for the audience krmfn"},
	} {
		tc.client.Files.Authorities = trusted
		options, err := tc.client.DialOptions(address, log)
		if err != nil {
			t.Fatal(err)
		}
		err = reflects(t, address, options)
		if status.Code(err) != tc.code || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error = %v, want %v %s", name, err, tc.code, tc.want)
		}
	}
	if err := isAlive(t, guard.Health.Addr().String()); err != nil {
		t.Errorf("health check in plain text = %v, want nil", err)
	}
}

// reflects calls server reflection, which requires authorization.
func reflects(t *testing.T, address string, options []grpc.DialOption) error {
	t.Helper()
	conn, err := grpc.NewClient(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the connection is not used any more
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if _, err = stream.Recv(); err == io.EOF { //nolint:errorlint // gRPC returns io.EOF itself
		return nil
	}
	return err
}

func isAlive(t *testing.T, address string) error {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the connection is not used any more
	_, err = grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: grpcserver.Liveness})
	return err
}

func TestNoSecurity(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	loaded, err := Security{}.load(log)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := loaded.guard(t.Context(), "test", &telemetry.Telemetry{Metrics: noop.NewMeterProvider()}, log)
	if err != nil || guard.Credentials != nil || guard.Permit != nil || guard.Health != nil || loaded.https() != nil {
		t.Errorf("guard() = %+v, %v, want the zero value", guard, err)
	}
}
