// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podcertificates lets function pods know function runners from everybody else: by certificates, which an authority of the
// installation signs.
//
// The authority is in a Secret that all function runners share. Each makes short-lived certificates of its own with it, which are in
// its memory alone. Function pods get the certificate of the authority, which is public, and have nothing that would let anybody call
// another pod.
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

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/server/logging"
)

// Secrets are the Secrets of a namespace.
type Secrets interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error)
	Create(ctx context.Context, secret *corev1.Secret, options metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, options metav1.UpdateOptions) (*corev1.Secret, error)
}

// Config is what a Keeper needs. All of it must be set.
type Config struct {
	Client Secrets
	// Namespace and Name are the Secret's.
	Namespace, Name string
	// Mode says who keeps the Secret.
	Mode Mode
	// AuthorityLifetime is how long an authority that the Keeper makes may be used, and Lifetime how long a certificate.
	AuthorityLifetime, Lifetime time.Duration
	// Log gets one line for each change of the Secret, and for each new problem.
	Log *slog.Logger
}

// Mode says who keeps the Secret.
type Mode int

const (
	// Unused reads the Secret when there is a pod that demands a certificate, as pods of other function runners may.
	Unused Mode = iota
	// Own has the Keeper make authorities, and replace them long before they expire.
	Own
	// External leaves that to somebody else, such as cert-manager.
	External
)

// Keeper has the authorities. Several of them, in several processes, may keep the same Secret. Its methods may be used by any number
// of goroutines at once.
type Keeper struct {
	config Config
	// wanted asks for a look at the Secret, because what a pod trusts is not known.
	wanted  chan struct{}
	logged  logging.Once
	refused metric.Int64Counter

	mu          sync.Mutex
	authorities []authority
	// issued has a certificate for each anchor. Those of authorities that are gone stay until they expire: pods that trust no other
	// are replaced as they fall idle.
	issued map[string]issued
}

const (
	// longestLook and shortestLook bound how often the Secret is looked at.
	longestLook, shortestLook = time.Minute, time.Second
	// looks is how often the Secret is looked at in the lifetime of an authority.
	looks = 100
	// attemptTimeout is the most time that one look takes.
	attemptTimeout = 30 * time.Second
)

// New returns a Keeper that knows no authority before Load.
func New(c Config) *Keeper {
	return &Keeper{config: c, wanted: make(chan struct{}, 1), issued: map[string]issued{}}
}

// Load reads the Secret, and puts an authority into it where there is none and the Keeper is to make it. The errors name the Secret and
// have nothing of its content. An unused Secret is not read.
func (k *Keeper) Load(ctx context.Context) error {
	if k.config.Mode == Unused {
		return nil
	}
	_, err := k.look(ctx)
	return err
}

// Run keeps the Secret until ctx ends, and calls changed when Trust has changed. Failures are logged, and tried again.
func (k *Keeper) Run(ctx context.Context, changed func()) {
	if k.config.Mode == Unused {
		select {
		case <-k.wanted:
		case <-ctx.Done():
			return
		}
	}
	pause := max(min(k.config.AuthorityLifetime/looks, longestLook), shortestLook)
	for ctx.Err() == nil {
		different, err := k.look(ctx)
		if k.logged.New(err) && ctx.Err() == nil {
			k.config.Log.ErrorContext(ctx, "the certificate authorities for function pods are not up to date, which is tried again", "err", err)
		}
		if different {
			changed()
		}
		// Pods that are not known must not make a storm of requests.
		wait(ctx, nil, shortestLook)
		wait(ctx, k.wanted, pause-shortestLook)
	}
}

func wait(ctx context.Context, wanted <-chan struct{}, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-wanted:
	case <-time.After(pause):
	}
}

// Trust returns what function pods are to trust.
func (k *Keeper) Trust() podtemplate.Trust {
	k.mu.Lock()
	defer k.mu.Unlock()
	return trust(k.authorities)
}

func trust(authorities []authority) (t podtemplate.Trust) {
	var text strings.Builder
	for _, a := range authorities {
		if name := fingerprint(a.anchor); !slices.Contains(t.Fingerprints, name) {
			t.Fingerprints = append(t.Fingerprints, name)
			text.Write(encodeCertificate(a.anchor))
		}
	}
	t.Authorities = text.String()
	return t
}

// adopt puts authorities in force and tells whether they are others.
func (k *Keeper) adopt(authorities []authority) (different bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	different = trust(k.authorities).Authorities != trust(authorities).Authorities
	// A certificate authority that is renewed with another key has the anchor of the one before.
	for i, a := range authorities {
		if i < len(k.authorities) && !a.certificate.Equal(k.authorities[i].certificate) {
			delete(k.issued, fingerprint(a.anchor))
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

// Trusted returns the fingerprints of the authorities that a pod trusts; none for a pod without TLS.
func Trusted(pod *corev1.Pod) []string {
	list, ok := pod.Annotations[functionpod.AuthoritiesAnnotation]
	if !ok {
		return nil
	}
	return strings.Split(list, ",")
}
