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

// TrustOptions configure a Trust. Zero values mean the defaults.
type TrustOptions struct {
	// Dir is a directory with ca.crt, or else ca.pem: certificate authorities that are trusted in addition to the system's. Those in
	// Dir/HOST:PORT, or Dir/HOST for port 443, are trusted for that registry only. Files are in PEM format, of at most 1 MiB each. If
	// Dir is empty, only the system's authorities are trusted.
	Dir string
	// Owner is the program that trusts the authorities, for errors. The default is "the function runner".
	Owner string
	// Log gets one line for each change and for each problem. Nil discards them.
	Log *slog.Logger
	// Reloaded, unless nil, is called each time the files have been read. changed reports whether trusted authorities have changed, and
	// err describes files that cannot be used. It must not block.
	Reloaded func(changed bool, err error)
}

// Trust is a transport like NewTransport, with additional certificate authorities. Changed files take effect for new connections within
// a second. A file without a valid certificate is ignored, and the authorities of a removed file are no longer trusted. Errors about a
// certificate name its issuer and say what to do.
//
// Trust is safe for concurrent use.
type Trust struct {
	options TrustOptions

	mu     sync.Mutex
	looked time.Time
	files  authorityFiles
	// problems are the problems that have been logged.
	problems map[string]bool
	// transports are by directory below Dir. The key "" is for registries without a directory.
	transports map[string]*http.Transport
}

// NewTrust returns a transport. It reads the files at the first use.
func NewTrust(options TrustOptions) *Trust {
	options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	options.Owner = cmp.Or(options.Owner, "the function runner")
	if options.Reloaded == nil {
		options.Reloaded = func(bool, error) {}
	}
	return &Trust{options: options, transports: map[string]*http.Transport{}}
}

// RoundTrip implements http.RoundTripper.
func (t *Trust) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.transport(request.Context(), request.URL).RoundTrip(request)
	if err != nil {
		return nil, t.explain(request.URL, err)
	}
	return response, nil
}

// CloseIdleConnections closes idle connections.
func (t *Trust) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, transport := range t.transports {
		transport.CloseIdleConnections()
	}
}

// lookInterval is the interval at which Run reads the files.
const lookInterval = 30 * time.Second

// Run reads the files periodically until ctx ends, so that problems are reported before a registry is used.
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

// directoriesOf returns the directories that may contain the certificate authorities for a server. Like in containerd, the form
// HOST_PORT_ is for file systems and volumes that allow no colon in names.
func directoriesOf(server *url.URL) []string {
	host, port := server.Hostname(), cmp.Or(server.Port(), "443")
	names := []string{net.JoinHostPort(host, port), host + "_" + port + "_"}
	if port == "443" {
		names = append(names, host)
	}
	return names
}

// reload reads the files at most once a second. The caller holds mu.
func (t *Trust) reload(ctx context.Context) {
	if t.options.Dir == "" || !t.looked.IsZero() && time.Since(t.looked) < rereadInterval {
		return
	}
	t.looked = time.Now()
	files, problems := readAuthorities(t.options.Dir, t.files)
	for problem := range problems {
		if !t.problems[problem] {
			t.options.Log.WarnContext(ctx, "registry certificate authorities have a problem", "dir", t.options.Dir, "problem", problem)
		}
	}
	t.problems = problems
	changed := files.changed(t.files)
	t.options.Reloaded(len(changed) > 0, problemsError(problems))
	if len(changed) == 0 {
		return
	}
	t.options.Log.InfoContext(ctx, "registry certificate authorities loaded", "dir", t.options.Dir, "changed", changed)
	t.files = files
	// Existing connections keep their authorities, and the TLS config of a transport in use must not change. So create new transports.
	for _, transport := range t.transports {
		transport.CloseIdleConnections()
	}
	clear(t.transports)
}

// problemsError joins all problems into one error. It returns nil if there are none.
func problemsError(problems map[string]bool) error {
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(slices.Sorted(maps.Keys(problems)), "; "))
}

// pool returns the authorities that are trusted for the registry of a directory.
func (f authorityFiles) pool(dir string) *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		// The system has no certificate pool.
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM([]byte(f[""]))
	pool.AppendCertsFromPEM([]byte(f[dir]))
	return pool
}

// explain returns an error that says what to do about a certificate, and which program rejects it: nodes have their own authorities, so
// checking those would not help. It returns other errors unchanged.
func (t *Trust) explain(server *url.URL, err error) error {
	failed, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok || len(failed.UnverifiedCertificates) == 0 {
		return err
	}
	chain := failed.UnverifiedCertificates
	issuer := shorten(chain[len(chain)-1].Issuer.String())
	var reason string
	switch cause := failed.Err.(type) { //nolint:errorlint // crypto/x509 does not wrap them
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

// maxName is the maximum length, in bytes, of a name or message of a server in the error about its certificate. The whole error must
// not exceed maxReason.
const maxName = 120

func shorten(text string) string {
	text = oneLine(text)
	if len(text) > maxName {
		return oneLine(text[:maxName]) + "…"
	}
	return text
}
