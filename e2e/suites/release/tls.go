// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package release

import (
	"context"
	"log/slog"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
	"github.com/krmfn/krmfn/internal/server/certificates"
	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

const (
	// secured is the name of the Secret with the installation's certificate. lifetime is the validity of certificates.
	secured, lifetime = "e2e-tls", 3 * time.Hour
	// audience is the audience of tokens.
	audience = "krmfn"
	// leaver is a service account that is deleted. rejectionTimeout is the time limit for its token to be rejected: function runners accept a
	// confirmed token for a minute, and the API server caches its own answers, too.
	leaver, rejectionTimeout = "e2e-leaver", 90 * time.Second
)

var _ = Describe("With TLS", Label("release"), func() {
	It("calls need a certificate or a token, and probes and helm test pass", func(ctx context.Context) {
		client := secure(ctx)
		image := f.Push(ctx, hostile.Echo)
		f.Configure(ctx, map[string]any{
			"tls": map[string]any{
				"secret": secured, "clientCertificates": true, "allowedClients": []any{"spiffe://e2e/*"},
				"tokenAudience": audience, "allowedServiceAccounts": []any{f.Release.Namespace + "/default", f.Release.Namespace + "/" + leaver},
			},
			"taskHandler": map[string]any{"enabled": true, "replicas": 1},
			"tests":       map[string]any{"functions": []any{map[string]any{"image": image}}},
		})
		Expect(f.Test()).To(Succeed())

		Expect(evaluate(ctx, client("spiffe://e2e/caller"), image)).To(Succeed())
		Expect(install.Code(evaluate(ctx, client("spiffe://elsewhere/caller"), image))).To(Equal(codes.PermissionDenied))
		Expect(install.Code(evaluate(ctx, client(""), image))).To(Equal(codes.Unauthenticated))

		accounts := f.Client.CoreV1().ServiceAccounts(f.Release.Namespace)
		tokenOf := func(account, audience string) certificates.ClientFlags {
			request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
			made, err := accounts.CreateToken(ctx, account, request, metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
			own := client("")
			own.TokenFile = certificatestest.Write(GinkgoTB(), GinkgoTB().TempDir(), "token", []byte(made.Status.Token))
			return own
		}
		Expect(evaluate(ctx, tokenOf("default", audience), image)).To(Succeed())
		Expect(install.Code(evaluate(ctx, tokenOf("default", "elsewhere"), image))).To(Equal(codes.Unauthenticated))

		_, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: leaver}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) {
			if err := accounts.Delete(ctx, leaver, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
				Expect(err).NotTo(HaveOccurred())
			}
		})
		token := tokenOf(leaver, audience)
		Expect(evaluate(ctx, token, image)).To(Succeed())
		Expect(accounts.Delete(ctx, leaver, metav1.DeleteOptions{})).To(Succeed())
		Eventually(ctx, func(ctx context.Context) codes.Code { return install.Code(evaluate(ctx, token, image)) }).
			WithTimeout(rejectionTimeout).WithPolling(time.Second).Should(Equal(codes.Unauthenticated))
	})
})

// secure creates the Secret of the installation for the current spec. The result returns the TLS settings of a client with a certificate
// for a URI, or with none.
func secure(ctx context.Context) func(uri string) certificates.ClientFlags {
	GinkgoHelper()
	authority := certificatestest.New(GinkgoTB(), "e2e")
	name := "function-runner." + f.Release.Namespace + ".svc"
	certificate, key := authority.Issue(GinkgoTB(), lifetime, name, "task-handler."+f.Release.Namespace+".svc")
	Expect(f.PutSecret(ctx, secured, corev1.SecretTypeTLS, map[string][]byte{
		corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key, "ca.crt": authority.PEM,
	})).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(f.DeleteSecret(ctx, secured)).To(Succeed())
	})
	trusted := certificatestest.Write(GinkgoTB(), GinkgoTB().TempDir(), "ca.crt", authority.PEM)
	return func(uri string) certificates.ClientFlags {
		client := certificates.ClientFlags{Files: certificates.Files{Authorities: trusted}, ServerName: name}
		if uri != "" {
			client.Files.Certificate, client.Files.Key = authority.Pair(GinkgoTB(), GinkgoTB().TempDir(), lifetime, uri)
		}
		return client
	}
}

// evaluate calls a function over a connection with the client's TLS settings and token in flags.
func evaluate(ctx context.Context, flags certificates.ClientFlags, image string) error {
	GinkgoHelper()
	address, err := f.Address(ctx)
	Expect(err).NotTo(HaveOccurred())
	options, err := flags.DialOptions(address, slog.New(slog.DiscardHandler))
	Expect(err).NotTo(HaveOccurred())
	conn, err := grpc.NewClient(address, options...)
	Expect(err).NotTo(HaveOccurred())
	defer conn.Close() //nolint:errcheck // nothing to lose
	ctx, cancel := context.WithTimeout(ctx, fixture.Patience)
	defer cancel()
	_, err = evaluatorgrpc.NewFunctionEvaluatorClient(conn).EvaluateFunction(ctx,
		&evaluator.EvaluateFunctionRequest{Image: image, ResourceList: hostile.List(0)}, grpc.WaitForReady(true))
	return err
}
