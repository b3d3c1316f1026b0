// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
)

// Client and server each report which side rejected which certificate.
func TestHandshakeErrors(t *testing.T) {
	t.Parallel()
	ours, others := certificatestest.New(t, "ours"), certificatestest.New(t, "others")
	trusted, untrusted := authorities(t, ours), authorities(t, others)
	server := pair(t, ours, 2*time.Hour, address, "runner")
	server.Authorities = trusted
	client := pair(t, ours, 2*time.Hour, "spiffe://test/porch")
	client.Authorities = trusted
	with := func(f Files, authorities string) Files {
		f.Authorities = authorities
		return f
	}
	for name, tc := range map[string]struct {
		server     Files
		client     ClientFlags
		want, logs string
	}{
		"no certificate": {
			server,
			ClientFlags{Files: Files{Authorities: trusted}},
			"the function runner rejected the client certificate: it requires one, and none was sent",
			"the client sent no certificate, but --client-ca-file requires one",
		},
		"expired client certificate": {
			server,
			ClientFlags{Files: with(pair(t, ours, time.Minute, "porch"), trusted)},
			"the function runner rejected the client certificate: it has expired or is not valid yet",
			"the certificate of the client for porch expired at ",
		},
		"client certificate of another authority": {
			server,
			ClientFlags{Files: with(pair(t, others, 2*time.Hour, "spiffe://test/other"), trusted)},
			"the function runner rejected the client certificate: it does not trust the authority that signed the certificate",
			"the certificate of the client for spiffe://test/other is not signed by an authority in --client-ca-file",
		},
		"server certificate of another authority": {
			server,
			ClientFlags{Files: with(client, untrusted)},
			"the certificate of the function runner for runner is not signed by an authority in --runner-ca",
			"the client rejected the server certificate: ",
		},
		"expired server certificate": {
			with(pair(t, ours, time.Minute, address), trusted),
			ClientFlags{Files: client},
			`the certificate of the function runner for "test" expired at `,
			"the client rejected the server certificate: ",
		},
		"server certificate with another name": {
			server,
			ClientFlags{Files: client, ServerName: "elsewhere"},
			"the certificate of the function runner for runner is not valid for elsewhere",
			"the client rejected the server certificate: ",
		},
		"client without TLS": {server, ClientFlags{}, "", "the client does not speak TLS"},
		"valid certificates": {server, ClientFlags{Files: client, ServerName: "runner"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &logBuffer{}
			s, err := NewServer(ServerFlags{Files: tc.server, MinVersion: "1.3"}, false, log.logger())
			if err != nil {
				t.Fatal(err)
			}
			err = checkHealth(t.Context(), t, serve(t, s), tc.client)
			if refused := tc.logs != ""; refused != (err != nil) || err != nil && !strings.Contains(strings.ReplaceAll(err.Error(), `\"`, `"`), tc.want) {
				t.Errorf("error of the client = %v, want %q", err, tc.want)
			}
			// The server may log after the client has failed.
			for tc.logs != "" && log.String() == "" && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
			if got := log.String(); !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), tc.logs) || tc.logs == "" && got != "" {
				t.Errorf("log of the server = %s, want %q", got, tc.logs)
			}
		})
	}
}

// No call fails while the certificates of both sides are replaced every few milliseconds.
func TestRotation(t *testing.T) {
	t.Parallel()
	authority := certificatestest.New(t, "authority")
	trusted := authorities(t, authority)
	server, client := pair(t, authority, 2*time.Hour, address), pair(t, authority, 2*time.Hour, "porch")
	server.Authorities, client.Authorities = trusted, trusted
	s, err := NewServer(ServerFlags{Files: server, MinVersion: "1.3"}, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.source.interval = 0
	listening := serve(t, s)
	first := s.source.current().certificate.Leaf.SerialNumber

	ctx, stop := context.WithCancel(t.Context())
	var rotating sync.WaitGroup
	rotating.Go(func() {
		for ctx.Err() == nil {
			// Pair writes the certificate before its key, so that the two do not match for a moment.
			authority.Pair(t, dirOf(server), 2*time.Hour, address)
			authority.Pair(t, dirOf(client), 2*time.Hour, "porch")
			time.Sleep(2 * time.Millisecond)
		}
	})
	for range 100 {
		if err := checkHealth(t.Context(), t, listening, ClientFlags{Files: matchingCopy(t, client)}); err != nil {
			t.Errorf("Check() = %v, want no error", err)
		}
	}
	stop()
	rotating.Wait()
	if s.source.current().certificate.Leaf.SerialNumber.Cmp(first) == 0 {
		t.Error("the server still uses its first certificate")
	}
}

// matchingCopy returns copies of the files with a certificate that matches its key. A client fails to start without them.
func matchingCopy(t *testing.T, f Files) Files {
	t.Helper()
	for {
		c, k := read(t, f.Certificate), read(t, f.Key)
		dir := t.TempDir()
		copied := Files{certificatestest.Write(t, dir, "c", c), certificatestest.Write(t, dir, "k", k), f.Authorities}
		if _, err := load(copied, contents{}); err == nil {
			return copied
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A source uses new certificates, and ignores invalid ones.
func TestSourceReloads(t *testing.T) {
	t.Parallel()
	authority, next := certificatestest.New(t, "authority"), certificatestest.New(t, "next")
	files := pair(t, authority, 2*time.Hour, address)
	files.Authorities = authorities(t, authority)
	log := &logBuffer{}
	s, err := newSource(files, log.logger())
	if err != nil {
		t.Fatal(err)
	}
	before := s.current()
	certificatestest.Write(t, dirOf(files), "tls.crt", []byte("nothing"))
	if s.interval = time.Hour; s.current().certificate != before.certificate {
		t.Error("current() read the files again before the interval has passed")
	}
	s.interval = 0
	for range 2 {
		if s.current().certificate != before.certificate {
			t.Error("current() returned an invalid certificate")
		}
	}
	if n := strings.Count(log.String(), "cannot reload certificates, keeping the previous ones"); n != 1 {
		t.Errorf("got %d warnings, want 1:\n%s", n, log)
	}
	next.Pair(t, dirOf(files), 2*time.Hour, address)
	if s.current().certificate == before.certificate {
		t.Error("current() returned the old certificate, want the new one")
	}
	if strings.Contains(log.String(), "PRIVATE") {
		t.Errorf("the log contains a private key:\n%s", log)
	}
}

func TestNewServerFailsForInvalidFiles(t *testing.T) {
	t.Parallel()
	authority := certificatestest.New(t, "authority")
	good, other := pair(t, authority, 2*time.Hour, address), pair(t, authority, 2*time.Hour, address)
	for name, tc := range map[string]struct {
		files Files
		want  string
	}{
		"missing certificate":        {Files{Certificate: "/nowhere.crt", Key: good.Key}, "open /nowhere.crt: no such file"},
		"key of another certificate": {Files{Certificate: good.Certificate, Key: other.Key}, "use the certificate " + good.Certificate + " with the key " + other.Key},
		"no authority in the file":   {Files{Certificate: good.Certificate, Key: good.Key, Authorities: good.Key}, "the file has no certificate in PEM format"},
		"missing authorities":        {Files{Certificate: good.Certificate, Key: good.Key, Authorities: "/nowhere.crt"}, "open /nowhere.crt"},
	} {
		if _, err := NewServer(ServerFlags{Files: tc.files}, false, slog.New(slog.NewTextHandler(io.Discard, nil))); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: NewServer() = %v, want an error with %q", name, err, tc.want)
		}
	}
}

// A token is sent only over TLS or to private addresses, and each call reads it from the file.
func TestToken(t *testing.T) {
	t.Parallel()
	file := certificatestest.Write(t, t.TempDir(), "token", []byte("secret\n"))
	for address, want := range map[string]bool{
		"127.0.0.1:9445": true, "localhost:9445": true, "[::1]:9445": true, "unix:///run/runner": true, "kube:porch-system/function-runner": true,
		"function-runner:9445": false, "10.0.0.1:9445": false, "dns:///runner:9445": false, "localhost.example.org:1": false,
	} {
		f := ClientFlags{TokenFile: file}
		if _, err := f.DialOptions(address, slog.Default()); (err == nil) != want {
			t.Errorf("DialOptions(%s) = %v, want success: %v", address, err, want)
		} else if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error contains the token: %v", err)
		}
	}
	got, err := token{file: file}.GetRequestMetadata(t.Context())
	if err != nil || got["authorization"] != "Bearer secret" {
		t.Errorf("GetRequestMetadata() = %v, %v, want the token in the file", got, err)
	}
	certificatestest.Write(t, dirOf(Files{Certificate: file}), "token", []byte("newer"))
	if got, err := (token{file: file}).GetRequestMetadata(t.Context()); err != nil || got["authorization"] != "Bearer newer" {
		t.Errorf("GetRequestMetadata() = %v, %v, want the new token", got, err)
	}
	certificatestest.Write(t, dirOf(Files{Certificate: file}), "token", []byte("two\nlines"))
	if _, err := (token{file: file}).read(); err == nil || !strings.Contains(err.Error(), "want one line of printable characters") {
		t.Errorf("read() = %v, want an error for two lines", err)
	}
}
