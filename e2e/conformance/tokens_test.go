// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/server/certificates"
	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
)

// jwt returns a token like those of service accounts, except for its signature.
func jwt(audience string, lifetime time.Duration, signature string) string {
	payload := fmt.Sprintf(`{"aud":[%q],"exp":%d}`, audience, time.Now().Add(lifetime).Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + "." + signature
}

// Only clients with tokens that the API server confirms for the audience and for an allowed service account may call. While the API server
// is down, new tokens are rejected. Tokens have no effect on connections without TLS.
func TestTokens(t *testing.T) {
	t.Parallel()
	authority := certificatestest.New(t, "authority")
	own := newMount(t, issue(t, authority, authority.PEM, "127.0.0.1"))
	api, files, healthPort := newAPIServer(t), own.certificates(), freePort(t)
	permitted, second := jwt("krmfn", time.Hour, "permitted"), jwt("krmfn", time.Hour, "second")
	other, person := jwt("krmfn", time.Hour, "other"), jwt("krmfn", time.Hour, "person")
	expired, elsewhere := jwt("krmfn", -time.Minute, "expired"), jwt("elsewhere", time.Hour, "elsewhere")
	const renderer = "system:serviceaccount:tools:renderer"
	api.tokens = map[string]string{
		permitted: renderer, second: renderer, expired: renderer, elsewhere: renderer, other: "system:serviceaccount:tools:other", person: "admin",
	}
	runner, _ := startRunner(t, "--tls-cert-file="+files.Certificate, "--tls-key-file="+files.Key, "--health-port="+healthPort,
		"--token-audience=krmfn", "--allowed-service-accounts=tools/renderer", "--kubeconfig="+api.kubeconfig(t))
	defer stop(t, runner)
	judge := func(name, token string, code codes.Code, want string) {
		t.Helper()
		client := certificates.ClientFlags{Files: certificates.Files{Authorities: own.file("ca.crt")}}
		if token != "" {
			client.TokenFile = certificatestest.Write(t, t.TempDir(), "token", []byte(token))
		}
		options, err := client.DialOptions(runner.Addr, slog.New(slog.DiscardHandler))
		check(t, err)
		conn, err := grpc.NewClient(runner.Addr, options...)
		check(t, err)
		defer conn.Close() //nolint:errcheck // nothing to lose
		if err := echo(t.Context(), conn); status.Code(err) != code || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want code %v with %q", name, err, code, want)
		}
	}
	judge("no token", "", codes.Unauthenticated, "send a token for the audience krmfn")
	judge("permitted service account", permitted, codes.OK, "")
	judge("other service account", other, codes.PermissionDenied, "the service account tools/other may not call")
	judge("person", person, codes.Unauthenticated, "it is not a service account token")
	judge("expired token", expired, codes.Unauthenticated, "it expired at ")
	judge("other audience", elsewhere, codes.Unauthenticated, "it is not for the audience krmfn")
	judge("forged token", jwt("krmfn", time.Hour, "forged"), codes.Unauthenticated, "the Kubernetes API server does not accept it")
	api.down.Store(true)
	judge("new token while the API server is down", second, codes.Unavailable, "could not be checked")
	judge("token that was confirmed before", permitted, codes.OK, "")

	for port, want := range map[string]codes.Code{runner.Addr: codes.Unavailable, "127.0.0.1:" + healthPort: codes.Unimplemented} {
		conn, err := grpc.NewClient(port, grpc.WithTransportCredentials(insecure.NewCredentials()))
		check(t, err)
		if err := echo(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+permitted), conn); status.Code(err) != want {
			t.Errorf("confirmed token without TLS: error = %v, want code %v", err, want)
		}
		check(t, conn.Close())
	}
}
