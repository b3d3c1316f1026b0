// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// TrustOptions are a Trust's. Zero values mean the defaults.
type TrustOptions struct {
	// Dir has ca.crt, or else ca.pem: certificate authorities that are trusted besides the system's. In Dir/HOST:PORT, or
	// Dir/HOST for port 443, they are so for one registry only. PEM, at most 1 MiB each. Default: the system's alone.
	Dir string
	// Owner is who trusts or does not, in errors. Default: "the function runner".
	Owner string
	// Log gets one line for each change, and for what is not understood. Default: none.
	Log *slog.Logger
	// Reloaded is told, each time that the files have been read, whether what is trusted has changed, or what in them cannot be used.
	// It must not wait. Default: nobody.
	Reloaded func(changed bool, err error)
}

// Trust is a transport, as of NewTransport, with certificate authorities of its own. Files that change hold for connections
// made a second later; one that has no certificates changes nothing, one that is removed is trusted no more. Errors for a
// certificate name its issuer and say what to do.
//
// What it trusts holds all that the default transport does, so that there is nothing to fall back to. It may be used by any
// number of goroutines at once.
type Trust struct {
	options TrustOptions

	mu     sync.Mutex
	looked time.Time
	files  authorityFiles
	// problems are those that were logged.
	problems map[string]bool
	// transports are by directory below Dir, "" for all registries without one. There are no more than directories.
	transports map[string]*http.Transport
}

// NewTrust returns a transport. Files are read when it is first used.
func NewTrust(options TrustOptions) *Trust {
	options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	options.Owner = cmp.Or(options.Owner, "the function runner")
	if options.Reloaded == nil {
		options.Reloaded = func(bool, error) {}
	}
	return &Trust{options: options, transports: map[string]*http.Transport{}}
}

// RoundTrip sends a request; see http.RoundTripper.
func (t *Trust) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.transport(request.Context(), request.URL).RoundTrip(request)
	if err != nil {
		return nil, t.explain(request.URL, err)
	}
	return response, nil
}

// CloseIdleConnections closes the connections that are kept.
func (t *Trust) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, transport := range t.transports {
		transport.CloseIdleConnections()
	}
}

// lookInterval is how often Run looks at the files.
const lookInterval = 30 * time.Second

// Run looks at the files at once and now and then, until ctx ends, so that what is wrong with them is known before a registry is asked.
func (t *Trust) Run(ctx context.Context) {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		t.mu.Lock()
		t.reload(ctx)
		t.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

func (t *Trust) transport(ctx context.Context, server *url.URL) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reload(ctx)
	dir := ""
	for _, name := range directoriesOf(server) {
		if _, ok := t.files[name]; ok {
			dir = name
			break
		}
	}
	found, ok := t.transports[dir]
	if !ok {
		found = NewTransport()
		found.TLSClientConfig = &tls.Config{RootCAs: t.files.pool(dir), MinVersion: tls.VersionTLS12}
		t.transports[dir] = found
	}
	return found
}

// directoriesOf returns the directories that a server's certificate authorities may be in. The last form is containerd's
// for systems, and volumes, whose names have no colon.
func directoriesOf(server *url.URL) []string {
	host, port := server.Hostname(), cmp.Or(server.Port(), "443")
	names := []string{net.JoinHostPort(host, port), host + "_" + port + "_"}
	if port == "443" {
		names = append(names, host)
	}
	return names
}

// reload looks at the files once a second. The caller holds the lock.
func (t *Trust) reload(ctx context.Context) {
	if t.options.Dir == "" || !t.looked.IsZero() && time.Since(t.looked) < reread {
		return
	}
	t.looked = time.Now()
	files, problems := readAuthorities(t.options.Dir, t.files)
	for problem := range problems {
		if !t.problems[problem] {
			t.options.Log.WarnContext(ctx, "a problem in the certificate authorities of registries", "dir", t.options.Dir, "problem", problem)
		}
	}
	t.problems = problems
	changed := files.changed(t.files)
	t.options.Reloaded(len(changed) > 0, problemsError(problems))
	if len(changed) == 0 {
		return
	}
	t.options.Log.InfoContext(ctx, "certificate authorities of registries loaded", "dir", t.options.Dir, "changed", changed)
	t.files = files
	// A connection that was made keeps what it was made with, and a transport is not to be changed in use.
	for _, transport := range t.transports {
		transport.CloseIdleConnections()
	}
	clear(t.transports)
}

// problemsError returns one error for all problems; nil for none.
func problemsError(problems map[string]bool) error {
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(slices.Sorted(maps.Keys(problems)), "; "))
}

// pool returns what is trusted for the registry of a directory.
func (f authorityFiles) pool(dir string) *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		// A system without any.
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM([]byte(f[""]))
	pool.AppendCertsFromPEM([]byte(f[dir]))
	return pool
}

// explain says of a certificate's error what to do, and who does not trust it: nodes, which pull the images, trust others, so
// that whoever looks there finds nothing. Other errors it returns as they are.
func (t *Trust) explain(server *url.URL, err error) error {
	failed, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok || len(failed.UnverifiedCertificates) == 0 {
		return err
	}
	chain := failed.UnverifiedCertificates
	issuer := shorten(chain[len(chain)-1].Issuer.String())
	var reason string
	switch cause := failed.Err.(type) { //nolint:errorlint // crypto/x509 returns them bare
	case x509.UnknownAuthorityError:
		reason = fmt.Sprintf("it does not trust the issuer %q: %s", issuer, t.advice(server))
	case x509.HostnameError:
		reason = fmt.Sprintf("it is for other names (issuer %q): check the registry's name and its certificate", issuer)
	case x509.CertificateInvalidError:
		reason = fmt.Sprintf("%s (issuer %q): renew the certificate, or set the clock", shorten(cause.Error()), issuer)
	default:
		reason = fmt.Sprintf("%s (issuer %q)", shorten(failed.Err.Error()), issuer)
	}
	return &failure{fmt.Sprintf("%s, not a node, refuses the certificate of %s: %s", t.options.Owner, server.Host, reason), err}
}

func (t *Trust) advice(server *url.URL) string {
	if t.options.Dir == "" {
		return "give it the issuer's certificate with --enable-private-registries-tls and --tls-secret-path"
	}
	return fmt.Sprintf("put the issuer's certificate into %s, or %s for this registry",
		filepath.Join(t.options.Dir, authorityNames[0]), filepath.Join(server.Host, authorityNames[0]))
}

// maxName is the most bytes of a server's words in the error of its certificate, which must fit with the rest into one of a
// registry.
const maxName = 120

func shorten(text string) string {
	text = oneLine(text)
	if len(text) > maxName {
		return oneLine(text[:maxName]) + "…"
	}
	return text
}
