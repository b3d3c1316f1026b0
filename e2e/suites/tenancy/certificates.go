// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package tenancy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/wrapperapi"
)

func describeCertificates() {
	Describe("With TLS between function runners and function pods", func() {
		It("function pods accept only certificates of their installation's authority", func(ctx context.Context) {
			image := push(ctx, shared)
			Expect(a.Evaluate(ctx, image)).To(Succeed())
			pods, err := a.FunctionPods(ctx, image)
			Expect(err).NotTo(HaveOccurred())
			Expect(pods).To(HaveLen(1))
			Expect(pods[0].Annotations).To(HaveKey(functionpod.AuthoritiesAnnotation))

			Expect(checkHealth(ctx, &pods[0], runnerCertificate(ctx, a))).To(Succeed())
			Expect(install.Code(checkHealth(ctx, &pods[0], runnerCertificate(ctx, b)))).To(Equal(codes.Unavailable))
			Eventually(ctx, func(ctx context.Context) (string, error) {
				text, err := a.Client.CoreV1().Pods(pods[0].Namespace).GetLogs(pods[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
				return string(text), err
			}).WithTimeout(fixture.Patience).Should(ContainSubstring("certificate signed by unknown authority"))
		})
	})
}

// checkHealth calls the health service of a function pod with a client certificate.
func checkHealth(ctx context.Context, pod *corev1.Pod, certificate *tls.Certificate) error {
	GinkgoHelper()
	address, stop, err := a.Forward(ctx, pod, 9446)
	Expect(err).NotTo(HaveOccurred())
	defer stop()
	// The certificates of function pods are not verifiable, so the client skips verification.
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil },
	})))
	Expect(err).NotTo(HaveOccurred())
	defer conn.Close() //nolint:errcheck // nothing to lose
	ctx, cancel := context.WithTimeout(ctx, fixture.Promptly)
	defer cancel()
	_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return err
}

// runnerCertificate creates a certificate chain as the function runners of an installation do: their own certificate and the authority's.
func runnerCertificate(ctx context.Context, f *fixture.Fixture) *tls.Certificate {
	GinkgoHelper()
	secret, err := f.Client.CoreV1().Secrets(f.Release.Namespace).Get(ctx, podAuthority, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	authority, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	Expect(err).NotTo(HaveOccurred())
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	now := time.Now()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), DNSNames: []string{wrapperapi.RunnerName},
		NotBefore: now.Add(-time.Minute), NotAfter: now.Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority.Leaf, key.Public(), authority.PrivateKey)
	Expect(err).NotTo(HaveOccurred())
	return &tls.Certificate{Certificate: [][]byte{der, authority.Leaf.Raw}, PrivateKey: key}
}
