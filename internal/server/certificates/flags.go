// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/tls"
	"errors"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/internal/server/flags"
)

// ServerFlags are the TLS flags of a server.
type ServerFlags struct {
	// Files has the values of --tls-cert-file, --tls-key-file and --client-ca-file.
	Files Files
	// MinVersion is 1.2 or 1.3.
	MinVersion string
	// HealthPort is the port of the gRPC health service without TLS; 0 means none.
	HealthPort int
}

// AddTo adds the flags to a set.
func (s *ServerFlags) AddTo(set *pflag.FlagSet) {
	set.StringVar(&s.Files.Certificate, "tls-cert-file", "", "path of the PEM file with the server's certificate chain; turns on TLS on --port and on the metrics port; reloaded when it changes; empty means plain text")
	set.StringVar(&s.Files.Key, "tls-key-file", "", "path of the PEM file with the private key of --tls-cert-file")
	set.StringVar(&s.Files.Authorities, "client-ca-file", "", "path of the PEM file with the certificate authorities that sign client certificates; clients must then present a certificate, or a token for --token-audience; reloaded when it changes; empty means that clients need no certificate")
	set.StringVar(&s.MinVersion, "tls-min-version", "1.3", "minimum TLS version: 1.2 or 1.3")
	set.IntVar(&s.HealthPort, "health-port", 0, "port that serves only the gRPC health service, in plain text, for kubelet probes, which do not support TLS; 0 means none")
}

// Enabled reports whether the server uses TLS.
func (s *ServerFlags) Enabled() bool { return s.Files.Certificate != "" }

// Problems returns the errors in the flags, except for an invalid port number. Nil elements are not errors.
func (s *ServerFlags) Problems() []error {
	problems := []error{
		checkPair(s.Files, "tls-cert-file", "tls-key-file"),
		flags.That(s.MinVersion == "1.2" || s.MinVersion == "1.3", "tls-min-version", s.MinVersion, "1.2 or 1.3"),
	}
	if s.Files.Authorities != "" && !s.Enabled() {
		problems = append(problems, errors.New("--client-ca-file needs --tls-cert-file and --tls-key-file: clients send certificates only to a server with TLS"))
	}
	return problems
}

func (s *ServerFlags) minVersion() uint16 {
	if s.MinVersion == "1.2" {
		return tls.VersionTLS12
	}
	return tls.VersionTLS13
}

// ClientFlags are the TLS and token flags of a client of the function runner.
type ClientFlags struct {
	// Files has the values of --runner-cert, --runner-key and --runner-ca.
	Files Files
	// ServerName is the expected name in the server's certificate; empty means the host that the client connects to.
	ServerName string
	// TokenFile is the path of a file with a bearer token; empty means none.
	TokenFile string
}

// AddTo adds the flags to a set.
func (c *ClientFlags) AddTo(set *pflag.FlagSet) {
	set.StringVar(&c.Files.Authorities, "runner-ca", "", "path of the PEM file with the certificate authorities that sign the function runner's certificate; turns on TLS; empty means plain text")
	set.StringVar(&c.Files.Certificate, "runner-cert", "", "path of the PEM file with the client certificate chain for the function runner")
	set.StringVar(&c.Files.Key, "runner-key", "", "path of the PEM file with the private key of --runner-cert")
	set.StringVar(&c.ServerName, "runner-server-name", "", "name to expect in the function runner's certificate; empty means the host of its address")
	set.StringVar(&c.TokenFile, "runner-token-file", "", "path of a file with a bearer token for the function runner, for example a projected service account token; read for each call; sent only over TLS, or to this machine")
}

// Problems returns the errors in the flags. Nil elements are not errors. Without a function runner, it is an error to set any of them.
func (c *ClientFlags) Problems(runner bool) []error {
	problems := []error{checkPair(c.Files, "runner-cert", "runner-key")}
	switch {
	case !runner && *c != (ClientFlags{}):
		problems = append(problems, errors.New("--runner-ca, --runner-cert, --runner-key, --runner-server-name and --runner-token-file need a function runner: name it with --runner"))
	case c.Files.Authorities == "" && c.Files.Certificate != "":
		problems = append(problems, errors.New("--runner-cert needs --runner-ca: certificates are sent only over TLS"))
	case c.Files.Authorities == "" && c.ServerName != "":
		problems = append(problems, errors.New("--runner-server-name needs --runner-ca: without TLS, the function runner sends no certificate"))
	}
	return problems
}

func checkPair(files Files, certificate, key string) error {
	switch {
	case files.Certificate != "" && files.Key == "":
		return errors.New("--" + certificate + " needs --" + key)
	case files.Certificate == "" && files.Key != "":
		return errors.New("--" + key + " needs --" + certificate)
	}
	return nil
}
