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

// Both sides say which of them refused what.
func TestRefusals(t *testing.T) {
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
			"the function runner refused this side's certificate: it demands one and was shown none",
			"the client showed no certificate, and --client-ca-file demands one",
		},
		"an expired client": {
			server,
			ClientFlags{Files: with(pair(t, ours, time.Minute, "porch"), trusted)},
			"the function runner refused this side's certificate: it has expired, or is not valid yet",
			"this side refused the certificate of the client for porch: it expired at ",
		},
		"a client of another authority": {
			server,
			ClientFlags{Files: with(pair(t, others, 2*time.Hour, "spiffe://test/other"), trusted)},
			"the function runner refused this side's certificate: it does not trust the authority that signed it",
			"this side refused the certificate of the client for spiffe://test/other: no authority of --client-ca-file signed it",
		},
		"a server of another authority": {
			server,
			ClientFlags{Files: with(client, untrusted)},
			"this side refused the certificate of the function runner for runner: no authority of --runner-ca signed it",
			"the client refused this side's certificate: ",
		},
		"an expired server": {
			with(pair(t, ours, time.Minute, address), trusted),
			ClientFlags{Files: client},
			`this side refused the certificate of the function runner for "test": it expired at `,
			"the client refused this side's certificate: ",
		},
		"a server with another name": {
			server,
			ClientFlags{Files: client, ServerName: "elsewhere"},
			"this side refused the certificate of the function runner for runner: it is not for elsewhere",
			"the client refused this side's certificate: ",
		},
		"a client without TLS": {server, ClientFlags{}, "", "the client does not speak TLS"},
		"all is well":          {server, ClientFlags{Files: client, ServerName: "runner"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &logged{}
			s, err := NewServer(ServerFlags{Files: tc.server, MinVersion: "1.3"}, false, log.logger())
			if err != nil {
				t.Fatal(err)
			}
			err = ask(t.Context(), t, serve(t, s), tc.client)
			if refused := tc.logs != ""; refused != (err != nil) || err != nil && !strings.Contains(strings.ReplaceAll(err.Error(), `\"`, `"`), tc.want) {
				t.Errorf("the client says %v, want %s", err, tc.want)
			}
			// The server may be a moment behind.
			for tc.logs != "" && log.String() == "" && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
			if got := log.String(); !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), tc.logs) || tc.logs == "" && got != "" {
				t.Errorf("the server logs %s, want %s", got, tc.logs)
			}
		})
	}
}

// Certificates of both sides change every few milliseconds, and no call fails.
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
	s.source.pause = 0
	listening := serve(t, s)
	first := s.source.current().certificate.Leaf.SerialNumber

	ctx, stop := context.WithCancel(t.Context())
	var rotating sync.WaitGroup
	rotating.Go(func() {
		for ctx.Err() == nil {
			// The certificate is there a moment before its key.
			authority.Pair(t, dirOf(server), 2*time.Hour, address)
			authority.Pair(t, dirOf(client), 2*time.Hour, "porch")
			time.Sleep(2 * time.Millisecond)
		}
	})
	for range 100 {
		if err := ask(t.Context(), t, listening, ClientFlags{Files: steady(t, client)}); err != nil {
			t.Errorf("a call failed: %v", err)
		}
	}
	stop()
	rotating.Wait()
	if s.source.current().certificate.Leaf.SerialNumber.Cmp(first) == 0 {
		t.Error("the server has the certificate that it began with")
	}
}

// steady returns files whose certificate fits its key at this moment, as a client that starts must find them.
func steady(t *testing.T, f Files) Files {
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

// A client that is connected takes up new certificates, too, and files that make no sense leave the old ones in force.
func TestReread(t *testing.T) {
	t.Parallel()
	authority, next := certificatestest.New(t, "authority"), certificatestest.New(t, "next")
	files := pair(t, authority, 2*time.Hour, address)
	files.Authorities = authorities(t, authority)
	log := &logged{}
	s, err := newSource(files, log.logger())
	if err != nil {
		t.Fatal(err)
	}
	before := s.current()
	certificatestest.Write(t, dirOf(files), "tls.crt", []byte("nothing"))
	if s.pause = time.Hour; s.current().certificate != before.certificate {
		t.Error("files are read all the time")
	}
	s.pause = 0
	for range 2 {
		if s.current().certificate != before.certificate {
			t.Error("what makes no sense is in force")
		}
	}
	if n := strings.Count(log.String(), "the certificates that were read before stay in use"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log)
	}
	next.Pair(t, dirOf(files), 2*time.Hour, address)
	if s.current().certificate == before.certificate {
		t.Error("the new certificate is not in force")
	}
	if strings.Contains(log.String(), "PRIVATE") {
		t.Errorf("a key is logged:\n%s", log)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	authority := certificatestest.New(t, "authority")
	good, other := pair(t, authority, 2*time.Hour, address), pair(t, authority, 2*time.Hour, address)
	for name, tc := range map[string]struct {
		files Files
		want  string
	}{
		"missing":          {Files{Certificate: "/nowhere.crt", Key: good.Key}, "open /nowhere.crt: no such file"},
		"another's key":    {Files{Certificate: good.Certificate, Key: other.Key}, "use the certificate " + good.Certificate + " with the key " + other.Key},
		"no authority":     {Files{Certificate: good.Certificate, Key: good.Key, Authorities: good.Key}, "it has no certificate in PEM format"},
		"authority absent": {Files{Certificate: good.Certificate, Key: good.Key, Authorities: "/nowhere.crt"}, "open /nowhere.crt"},
	} {
		if _, err := NewServer(ServerFlags{Files: tc.files}, false, slog.New(slog.NewTextHandler(io.Discard, nil))); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

// A token is for those alone whom it is sent to.
func TestToken(t *testing.T) {
	t.Parallel()
	file := certificatestest.Write(t, t.TempDir(), "token", []byte("secret\n"))
	for address, want := range map[string]bool{
		"127.0.0.1:9445": true, "localhost:9445": true, "[::1]:9445": true, "unix:///run/runner": true, "kube:porch-system/function-runner": true,
		"function-runner:9445": false, "10.0.0.1:9445": false, "dns:///runner:9445": false, "localhost.example.org:1": false,
	} {
		f := ClientFlags{TokenFile: file}
		if _, err := f.DialOptions(address, slog.Default()); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		} else if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error has the token: %v", err)
		}
	}
	got, err := token{file: file}.GetRequestMetadata(t.Context())
	if err != nil || got["authorization"] != "Bearer secret" {
		t.Errorf("%v, %v", got, err)
	}
	certificatestest.Write(t, dirOf(Files{Certificate: file}), "token", []byte("newer"))
	if got, err := (token{file: file}).GetRequestMetadata(t.Context()); err != nil || got["authorization"] != "Bearer newer" {
		t.Errorf("%v, %v", got, err)
	}
	certificatestest.Write(t, dirOf(Files{Certificate: file}), "token", []byte("two\nlines"))
	if _, err := (token{file: file}).read(); err == nil || !strings.Contains(err.Error(), "want one line of printable characters") {
		t.Errorf("%v", err)
	}
}
