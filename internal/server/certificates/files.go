// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package certificates secures the connections of servers and clients with TLS. It reloads certificates when their files change.
package certificates

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// minReloadInterval is the minimum interval between two reads of the files.
const minReloadInterval = time.Second

// Files are the PEM files of one side of a connection.
type Files struct {
	// Certificate has this side's certificate chain, starting with its own certificate, and Key has the private key. Both are empty
	// if this side has no certificate.
	Certificate, Key string
	// Authorities has the certificate authorities for the other side's certificate. Empty means that a server does not request client
	// certificates.
	Authorities string
}

// contents are the contents of Files. The key belongs to the certificate.
type contents struct {
	raw         [3][]byte
	certificate *tls.Certificate
	authorities *x509.CertPool
}

// source holds the contents of files. It reads the files again for a new connection, at most once a second. If they are invalid, it keeps
// the previous contents, because the key of a certificate may be written later than the certificate. Safe for concurrent use.
type source struct {
	files    Files
	log      *slog.Logger
	interval time.Duration
	// reloaded is called after each read. err is the reason why the files are invalid. May be nil.
	reloaded func(changed bool, err error)

	mu      sync.Mutex
	last    contents
	read    time.Time
	problem string
}

// newSource reads the files. An error names the invalid file.
func newSource(files Files, log *slog.Logger) (*source, error) {
	s := &source{files: files, log: log, interval: minReloadInterval, read: time.Now()}
	var err error
	s.last, err = load(files, contents{})
	return s, err
}

// current returns the latest valid contents.
func (s *source) current() contents {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) < s.interval {
		return s.last
	}
	s.read = time.Now()
	next, err := load(s.files, s.last)
	if s.reloaded != nil {
		s.reloaded(err == nil && !equal(next.raw, s.last.raw), err)
	}
	if err != nil {
		if s.problem != err.Error() {
			s.log.Warn("cannot reload certificates, keeping the previous ones", "err", err)
		}
		s.problem = err.Error()
		return s.last
	}
	if s.problem != "" || !equal(next.raw, s.last.raw) {
		s.log.Info("reloaded certificates", "certificate", s.files.Certificate, "authorities", s.files.Authorities)
	}
	s.last, s.problem = next, ""
	return s.last
}

// load reads the files. It returns before if they have not changed.
func load(files Files, before contents) (contents, error) {
	var c contents
	for i, file := range []string{files.Certificate, files.Key, files.Authorities} {
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return contents{}, fmt.Errorf("read the certificate files: %w", err)
		}
		c.raw[i] = text
	}
	if equal(c.raw, before.raw) {
		return before, nil
	}
	if files.Certificate != "" {
		pair, err := tls.X509KeyPair(c.raw[0], c.raw[1])
		if err != nil {
			return contents{}, fmt.Errorf("use the certificate %s with the key %s: %w", files.Certificate, files.Key, err)
		}
		c.certificate = &pair
	}
	if files.Authorities != "" {
		c.authorities = x509.NewCertPool()
		if !c.authorities.AppendCertsFromPEM(c.raw[2]) {
			return contents{}, fmt.Errorf("read the certificate authorities in %s: %w", files.Authorities, errNoCertificate)
		}
	}
	return c, nil
}

var errNoCertificate = errors.New("the file has no certificate in PEM format")

func equal(a, b [3][]byte) bool {
	return bytes.Equal(a[0], b[0]) && bytes.Equal(a[1], b[1]) && bytes.Equal(a[2], b[2])
}
