// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podcertificates authenticates function runners to function pods with client certificates of a certificate authority.
//
// The authority is in a Secret that all function runners share. Each function runner issues short-lived certificates for itself, and
// keeps them in memory only. Function pods get only the fingerprint of the authority's certificate, so that they hold nothing with which
// a function could call another pod.
package podcertificates

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/reconcile"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

// Secrets is a client for the Secrets of a namespace.
type Secrets interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error)
	Create(ctx context.Context, secret *corev1.Secret, options metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, options metav1.UpdateOptions) (*corev1.Secret, error)
}

// Config configures a Keeper. All fields must be set.
type Config struct {
	Client Secrets
	// Namespace and Name identify the Secret.
	Namespace, Name string
	// Mode controls who maintains the Secret.
	Mode Mode
	// AuthorityLifetime is the lifetime of authorities that the Keeper creates. Lifetime is the lifetime of client certificates.
	AuthorityLifetime, Lifetime time.Duration
	// Log gets one line for each change of the Secret, and for each new problem.
	Log *slog.Logger
}

// Mode controls who maintains the Secret.
type Mode int

const (
	// Unused makes the Keeper read the Secret only when a pod requires a certificate, because another function runner may have created
	// the pod.
	Unused Mode = iota
	// Own makes the Keeper create authorities and replace them before they expire.
	Own
	// External leaves the Secret to another program, such as cert-manager.
	External
)

// Keeper holds the certificate authorities. Keepers in several processes can share a Secret. Its methods are safe for concurrent use.
type Keeper struct {
	config Config
	// wanted requests a read of the Secret, because a pod trusts only unknown authorities.
	wanted  chan struct{}
	refused metric.Int64Counter

	mu          sync.Mutex
	authorities []authority
	// issued holds a client certificate for each anchor. Certificates of removed authorities stay until they expire, because pods that
	// trust only these authorities are replaced only when they are idle.
	issued map[string]issued
}

const (
	// maxInterval is the maximum interval at which Run reads the Secret.
	maxInterval = time.Minute
	// reads is the minimum number of reads of the Secret within the lifetime of an authority.
	reads = 100
	// attemptTimeout is the timeout of one update from the Secret.
	attemptTimeout = 30 * time.Second
)

// New returns a Keeper without authorities until Load.
func New(c Config) *Keeper {
	return &Keeper{config: c, wanted: make(chan struct{}, 1), issued: map[string]issued{}}
}

// Load reads the Secret, and in mode Own creates an authority if there is none. Errors name the Secret, but do not contain its content.
// In mode Unused, Load does nothing.
func (k *Keeper) Load(ctx context.Context) error {
	if k.config.Mode == Unused {
		return nil
	}
	_, err := k.read(ctx)
	return err
}

// Run updates the authorities until ctx ends, and calls changed when Trust has changed. It logs errors and retries.
func (k *Keeper) Run(ctx context.Context, changed func()) {
	if k.config.Mode == Unused {
		select {
		case <-k.wanted:
		case <-ctx.Done():
			return
		}
	}
	reconcile.Loop{
		Attempt: func(ctx context.Context) error {
			different, err := k.read(ctx)
			if different {
				changed()
			}
			return err
		},
		Interval: max(min(k.config.AuthorityLifetime/reads, maxInterval), reconcile.MinInterval), Changed: k.wanted,
		Failed: func(err error) {
			k.config.Log.ErrorContext(ctx, "the certificate authorities for function pods are not up to date, retrying", "err", err)
		},
	}.Run(ctx)
}

// Trust returns the fingerprints of the authorities that new function pods must trust.
func (k *Keeper) Trust() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return trust(k.authorities)
}

func trust(authorities []authority) (fingerprints []string) {
	for _, a := range authorities {
		if !slices.Contains(fingerprints, a.anchor) {
			fingerprints = append(fingerprints, a.anchor)
		}
	}
	return fingerprints
}

// adopt replaces the authorities and reports whether Trust has changed.
func (k *Keeper) adopt(authorities []authority) (different bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	different = !slices.Equal(trust(k.authorities), trust(authorities))
	// An authority that was renewed with another key may have the same anchor.
	for i, a := range authorities {
		if i < len(k.authorities) && !a.certificate.Equal(k.authorities[i].certificate) {
			delete(k.issued, a.anchor)
		}
	}
	k.authorities = authorities
	for name, c := range k.issued {
		if time.Now().After(c.certificate.Leaf.NotAfter) {
			delete(k.issued, name)
		}
	}
	return different
}

// Trusted returns the fingerprints of the authorities that a pod trusts, or nil for a pod without TLS.
func Trusted(pod *corev1.Pod) []string {
	list, ok := pod.Annotations[functionpod.AuthoritiesAnnotation]
	if !ok {
		return nil
	}
	return strings.Split(list, ",")
}
