// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podcertificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/internal/wrapperapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	namespace = "krmfn"
	name      = "function-pod-ca"
	quarter   = 90 * 24 * time.Hour
	day       = 24 * time.Hour
)

// cluster returns an API server with the Secret that rejects updates of an old resource version.
func cluster(secret *corev1.Secret) *fake.Clientset {
	client := fake.NewClientset()
	if secret != nil {
		secret.Name, secret.Namespace, secret.ResourceVersion = name, namespace, "1"
		client = fake.NewClientset(secret)
	}
	var mu sync.Mutex
	version := "1"
	client.PrependReactor("update", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		updated := action.(clienttesting.UpdateAction).GetObject().(*corev1.Secret)
		if updated.ResourceVersion != version {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, name, errors.New("it has changed"))
		}
		version += "0"
		updated.ResourceVersion = version
		return true, updated, client.Tracker().Update(action.GetResource(), updated, namespace)
	})
	return client
}

func keeper(client *fake.Clientset, mode Mode, authority time.Duration) *Keeper {
	return New(Config{
		Client: client.CoreV1().Secrets(namespace), Namespace: namespace, Name: name, Mode: mode, AuthorityLifetime: authority, Lifetime: day,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

// load loads the Secrets of keepers.
func load(t *testing.T, keepers ...*Keeper) {
	t.Helper()
	for _, k := range keepers {
		if err := k.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// accepts checks whether a pod with the given trust accepts a keeper's certificate.
func accepts(t *testing.T, trusted []string, k *Keeper) error {
	t.Helper()
	certificate, err := k.certificate(trusted)
	if err != nil {
		return err
	}
	sent := make([]*x509.Certificate, 0, len(certificate.Certificate))
	for _, der := range certificate.Certificate {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, c)
	}
	return wrapperapi.VerifyRunner(sent, trusted)
}

// Replicas that start at the same time share one authority.
func TestReplicasShareTheAuthority(t *testing.T) {
	t.Parallel()
	for what, secret := range map[string]*corev1.Secret{"no Secret": nil, "an empty one": {}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			client := cluster(secret)
			keepers := make([]*Keeper, 5)
			var starts sync.WaitGroup
			for i := range keepers {
				keepers[i] = keeper(client, Own, quarter)
				starts.Go(func() {
					if err := keepers[i].Load(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			starts.Wait()
			for _, k := range keepers {
				if err := accepts(t, keepers[0].Trust(), k); err != nil {
					t.Error(err)
				}
				if got, want := k.Trust(), keepers[0].Trust(); !slices.Equal(got, want) || len(got) != 1 {
					t.Errorf("Trust() of a replica = %v, want %v", got, want)
				}
			}
		})
	}
}

// Through several lifetimes of authorities, each replica can call each pod that is younger than a third of a lifetime.
func TestRotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cluster(&corev1.Secret{})
		writer, reader, off := keeper(client, Own, quarter), keeper(client, Own, quarter), keeper(client, Unused, quarter)
		load(t, writer, reader)
		pods := [][]string{writer.Trust()}
		changes := 0
		for range 4 * 90 {
			time.Sleep(day)
			before := writer.Trust()
			load(t, writer)
			// A replica that has not read the Secret again can call the newest pods.
			if err := accepts(t, writer.Trust(), reader); err != nil {
				t.Fatalf("certificate of a replica before its next read: %v, want it accepted", err)
			}
			load(t, reader)
			if !slices.Equal(before, writer.Trust()) {
				changes++
			}
			pods = append(pods, writer.Trust())
			pods = pods[max(0, len(pods)-30):]
			for _, pod := range pods {
				if err := errors.Join(accepts(t, pod, writer), accepts(t, pod, reader)); err != nil {
					t.Fatal(err)
				}
			}
			if len(writer.Trust()) > 2 {
				t.Fatalf("pods trust %v, want at most 2 authorities", writer.Trust())
			}
		}
		if changes < 8 {
			t.Errorf("changes of the authorities in four lifetimes = %d, want at least 8", changes)
		}
		// A replica in mode Unused reads the Secret when a pod requires a certificate.
		if _, err := off.certificate(pods[0]); err == nil {
			t.Error("certificate() without an authority = nil error, want an error")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); off.Run(ctx, func() {}) }()
		synctest.Wait()
		if err := accepts(t, pods[len(pods)-1], off); err != nil {
			t.Error(err)
		}
		cancel()
		<-done
	})
}

// A certificate is replaced well before it expires, and does not outlive its authority.
func TestCertificatesAreShortLived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := keeper(cluster(&corev1.Secret{}), Own, 36*time.Hour)
		load(t, k)
		pod := k.Trust()
		serials := map[string]bool{}
		for range 35 {
			c, err := k.certificate(pod)
			if err != nil {
				t.Fatal(err)
			}
			if left := time.Until(c.Leaf.NotAfter); left <= 0 || left > day || c.Leaf.NotAfter.After(k.authorities[0].certificate.NotAfter) {
				t.Fatalf("certificate expires in %v, want at most a day, and before its authority", left)
			}
			serials[c.Leaf.SerialNumber.String()] = true
			time.Sleep(time.Hour)
		}
		if len(serials) < 2 {
			t.Error("the certificate was never replaced")
		}
		time.Sleep(2 * time.Hour)
		if c, err := k.certificate(pod); err == nil {
			t.Errorf("certificate() of an expired authority is valid until %v, want an error", c.Leaf.NotAfter)
		}
	})
}

// An authority that was removed from the Secret issues no certificates, and new pods do not trust it.
func TestRevocation(t *testing.T) {
	t.Parallel()
	client := cluster(&corev1.Secret{})
	k := keeper(client, Own, quarter)
	load(t, k)
	old := k.Trust()
	if err := accepts(t, old, k); err != nil {
		t.Fatal(err)
	}
	secrets := client.CoreV1().Secrets(namespace)
	secret, err := secrets.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.Data = nil
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	late := keeper(client, Own, quarter)
	load(t, k, late)
	if slices.Contains(k.Trust(), old[0]) {
		t.Error("new pods trust the old authority")
	}
	// Existing pods can be called until they are replaced.
	if err := errors.Join(accepts(t, old, k), accepts(t, k.Trust(), late)); err != nil {
		t.Error(err)
	}
	if err := accepts(t, old, late); err == nil || !strings.Contains(err.Error(), old[0]) {
		t.Errorf("certificate() of a replica without the old authority = %v, want an error with its fingerprint", err)
	}
}

// A Secret of cert-manager has one authority and its issuer. Pods trust the issuer, so that cert-manager can renew the authority.
func TestExternal(t *testing.T) {
	t.Parallel()
	issuer := certificatestest.New(t, "issuer")
	first, second := intermediate(t, issuer), intermediate(t, issuer)
	client := cluster(first)
	k := keeper(client, External, quarter)
	load(t, k)
	pod := k.Trust()
	if err := accepts(t, pod, k); err != nil {
		t.Fatal(err)
	}
	second.Name, second.Namespace = name, namespace
	if err := client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), second, namespace); err != nil {
		t.Fatal(err)
	}
	load(t, k)
	if k.Trust()[0] != pod[0] {
		t.Error("the trusted root has changed")
	}
	if err := accepts(t, pod, k); err != nil {
		t.Error(err)
	}
	if c, err := k.certificate(pod); err != nil || c.Leaf.CheckSignatureFrom(k.authorities[0].certificate) != nil {
		t.Errorf("certificate() = %v, %v, want one of the new authority", c, err)
	}
	foreign := keeper(client, Own, quarter)
	if err := foreign.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "somebody else keeps it") {
		t.Errorf("Load() of an external Secret = %v, want an error", err)
	}
}

// intermediate returns a Secret like the one that cert-manager writes for a certificate with isCA.
func intermediate(t *testing.T, issuer *certificatestest.Authority) *corev1.Secret {
	t.Helper()
	certificate, key := issuer.IssueAuthority(t, "function runners")
	return &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key, caKey: issuer.PEM}}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	issuer := certificatestest.New(t, "issuer")
	good := intermediate(t, issuer).Data
	for what, tc := range map[string]struct {
		secret *corev1.Secret
		want   string
	}{
		"none":                  {nil, "NotFound"},
		"empty":                 {&corev1.Secret{}, "tls.crt"},
		"no key":                {&corev1.Secret{Data: map[string][]byte{"tls.crt": good["tls.crt"]}}, "tls.key has no private key"},
		"broken key":            {&corev1.Secret{Data: map[string][]byte{"tls.crt": good["tls.crt"], "tls.key": good["tls.crt"]}}, "what is no private key"},
		"the key of another":    {&corev1.Secret{Data: map[string][]byte{"tls.crt": good["tls.crt"], "tls.key": intermediate(t, issuer).Data["tls.key"]}}, "has no certificate"},
		"an unreadable issuer":  {&corev1.Secret{Data: map[string][]byte{"tls.crt": good["tls.crt"], "tls.key": good["tls.key"], "ca.crt": []byte("x")}}, "ca.crt"},
		"not even certificates": {&corev1.Secret{Data: map[string][]byte{"tls.crt": []byte("hunter2"), "tls.key": good["tls.key"]}}, "tls.crt"},
	} {
		err := keeper(cluster(tc.secret), External, quarter).Load(t.Context())
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), namespace+"/"+name) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: Load() = %v, want an error with %q", what, err, tc.want)
		}
	}
	client := fake.NewClientset()
	client.PrependReactor("*", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, name, errors.New("no"))
	})
	if err := keeper(client, Own, quarter).Load(t.Context()); err == nil || !strings.Contains(err.Error(), "allow the function runner to get and update it") {
		t.Errorf("Load() = %v, want advice about permissions", err)
	}
}

// A server that knows only fingerprints accepts what a function runner sends in the handshake.
func TestHandshake(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		secret *corev1.Secret
		mode   Mode
	}{
		"an authority of its own": {&corev1.Secret{}, Own},
		"an external authority":   {intermediate(t, certificatestest.New(t, "issuer")), External},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			k := keeper(cluster(tc.secret), tc.mode, quarter)
			load(t, k)
			pair, err := tls.X509KeyPair(certificatestest.New(t, "pod").Issue(t, day, "pod"))
			if err != nil {
				t.Fatal(err)
			}
			client, server := net.Pipe()
			done := make(chan error, 1)
			go func() {
				done <- tls.Server(server, &tls.Config{
					MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true,
					NextProtos: []string{"h2"},
					VerifyConnection: func(state tls.ConnectionState) error {
						return wrapperapi.VerifyRunner(state.PeerCertificates, k.Trust())
					},
				}).HandshakeContext(t.Context())
				_ = server.Close()
			}()
			_, _, err = k.Credentials(k.Trust()).ClientHandshake(t.Context(), "pod", client)
			_ = client.Close()
			if err := errors.Join(err, <-done); err != nil {
				t.Error(err)
			}
		})
	}
}

// The chart creates the Secret, and the function runner may not.
func TestMissingSecretIsNotForbidden(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	client.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, name, errors.New("no"))
	})
	err := keeper(client, Own, quarter).Load(t.Context())
	if err == nil || strings.Contains(err.Error(), "Forbidden") {
		t.Fatalf("Load() = %v, want an error other than Forbidden", err)
	}
	for _, want := range []string{"Secret " + namespace + "/" + name, "NotFound", "helm upgrade"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Load() = %v, want %q in it", err, want)
		}
	}
}

// The handshake with a server without TLS fails, and no request is sent.
func TestHandshakeWithAnother(t *testing.T) {
	t.Parallel()
	k := keeper(cluster(&corev1.Secret{}), Own, quarter)
	load(t, k)
	client, server := net.Pipe()
	defer client.Close() //nolint:errcheck // the test has its answer
	go func() {
		defer server.Close() //nolint:errcheck // as above
		_, _ = server.Read(make([]byte, 4096))
		_, _ = server.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	}()
	_, _, err := k.Credentials(k.Trust()).ClientHandshake(t.Context(), "pod", client)
	if !errors.As(err, new(tls.RecordHeaderError)) {
		t.Errorf("ClientHandshake() = %v, want a RecordHeaderError", err)
	}
}
