// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package certificates secures the connections of servers and clients by TLS, with files that may change while they are in use.
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

// reread is how old what was read may be when a connection is made.
const reread = time.Second

// Files are the PEM files of one side of a connection.
type Files struct {
	// Certificate is the certificate chain that this side shows, its own certificate first, and Key its private key. Both are
	// empty on a side without a certificate.
	Certificate, Key string
	// Authorities has the certificates of the authorities that sign the other side's. It is empty on a server that asks clients for
	// no certificates.
	Authorities string
}

// contents are files that fit together.
type contents struct {
	raw         [3][]byte
	certificate *tls.Certificate
	authorities *x509.CertPool
}

// source reads files again when a connection is made, at most once a second. Files that cannot be used leave those in force that
// were read before: while a certificate is replaced, its key may be that of another. It may be used by any number of goroutines
// at once.
type source struct {
	files Files
	log   *slog.Logger
	pause time.Duration
	// reloaded is told, after each reading, whether the files have changed, or why they cannot be used; it may be nil.
	reloaded func(changed bool, err error)

	mu      sync.Mutex
	last    contents
	read    time.Time
	problem string
}

// newSource reads the files. The error names the file that cannot be used.
func newSource(files Files, log *slog.Logger) (*source, error) {
	s := &source{files: files, log: log, pause: reread, read: time.Now()}
	var err error
	s.last, err = load(files, contents{})
	return s, err
}

// current returns what is in the files.
func (s *source) current() contents {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) < s.pause {
		return s.last
	}
	s.read = time.Now()
	next, err := load(s.files, s.last)
	if s.reloaded != nil {
		s.reloaded(err == nil && !same(next.raw, s.last.raw), err)
	}
	if err != nil {
		if s.problem != err.Error() {
			s.log.Warn("the certificates that were read before stay in use", "err", err)
		}
		s.problem = err.Error()
		return s.last
	}
	if s.problem != "" || !same(next.raw, s.last.raw) {
		s.log.Info("certificates have been read again", "certificate", s.files.Certificate, "authorities", s.files.Authorities)
	}
	s.last, s.problem = next, ""
	return s.last
}

// load reads the files, and returns before if they are unchanged.
func load(files Files, before contents) (contents, error) {
	var c contents
	for i, file := range []string{files.Certificate, files.Key, files.Authorities} {
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return contents{}, fmt.Errorf("read a certificate or key: %w", err)
		}
		c.raw[i] = text
	}
	if same(c.raw, before.raw) {
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
			return contents{}, fmt.Errorf("read the certificate authorities %s: %w", files.Authorities, errNoCertificate)
		}
	}
	return c, nil
}

var errNoCertificate = errors.New("it has no certificate in PEM format")

func same(a, b [3][]byte) bool {
	return bytes.Equal(a[0], b[0]) && bytes.Equal(a[1], b[1]) && bytes.Equal(a[2], b[2])
}
