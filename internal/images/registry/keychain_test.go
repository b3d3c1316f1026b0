// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/process/programtest"
)

// guard is a registry that requires a password, which the test can change. It is also the token server.
type guard struct {
	*server
	scheme string
	mu     sync.Mutex
	secret string
}

func newGuard(t *testing.T, scheme, secret string) *guard {
	t.Helper()
	g := &guard{server: newServer(t), scheme: scheme, secret: secret}
	g.push(t, "v1", newImage(t, "", runs("/one")))
	g.answer(g.refuse)
	return g
}

func (g *guard) change(secret string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.secret = secret
}

func (g *guard) refuse(w http.ResponseWriter, r *http.Request) bool {
	g.mu.Lock()
	secret := g.secret
	g.mu.Unlock()
	user, password, _ := r.BasicAuth()
	known := user == "u" && password == secret
	challenge := `Basic realm="r"`
	if g.scheme == "bearer" {
		if r.URL.Path == "/token" {
			known = known || r.Method == http.MethodPost && r.FormValue("refresh_token") == secret
			if known {
				_, _ = fmt.Fprintf(w, `{"token":"token-%s"}`, secret)
				return true
			}
			challenge = ""
		} else {
			known = r.Header.Get("Authorization") == "Bearer token-"+secret
			challenge = fmt.Sprintf(`Bearer realm="https://%s/token",service="s"`, g.host)
		}
	}
	if known {
		return false
	}
	if challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`)
	return true
}

// logText keeps the log output.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logText) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func auths(host, entry string) string { return fmt.Sprintf(`{"auths":{%q:%s}}`, host, entry) }

func encoded(password string) string {
	return fmt.Sprintf(`{"auth":%q}`, base64.StdEncoding.EncodeToString([]byte("u:"+password)))
}

// keychainOf returns a keychain with a file, the name of the file, and the log.
func keychainOf(t *testing.T, options registry.KeychainOptions, content string) (*registry.Keychain, string, *logText) {
	t.Helper()
	log := &logText{}
	options.File, options.Log = filepath.Join(t.TempDir(), ".dockerconfigjson"), log.logger()
	write(t, options.File, content)
	k := registry.NewKeychain(options)
	t.Cleanup(k.Close)
	return k, options.File, log
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		scheme, entry string
		refused       bool
	}{
		"basic":                {scheme: "basic", entry: encoded("s3cret")},
		"basic in two":         {scheme: "basic", entry: `{"username":"u","password":"s3cret"}`},
		"basic, wrong":         {scheme: "basic", entry: encoded("s4cret"), refused: true},
		"bearer":               {scheme: "bearer", entry: encoded("s3cret")},
		"bearer, wrong":        {scheme: "bearer", entry: encoded("s4cret"), refused: true},
		"identity token":       {scheme: "bearer", entry: `{"identitytoken":"s3cret"}`},
		"identity token, auth": {scheme: "bearer", entry: `{"auth":"dTo=","identitytoken":"s3cret"}`},
		"registry token":       {scheme: "bearer", entry: `{"registrytoken":"token-s3cret"}`},
		"nothing":              {scheme: "basic", entry: `{}`, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, tc.scheme, "s3cret")
			k, _, log := keychainOf(t, registry.KeychainOptions{}, auths("https://"+g.host+"/v2/", tc.entry))
			_, err := g.client(registry.Options{Keychain: k}).Digest(t.Context(), g.ref("v1"))
			if refused := errors.As(err, new(*registry.UnauthorizedError)); refused != tc.refused || !refused && err != nil {
				t.Errorf("Digest() = %v", err)
			}
			if all := fmt.Sprint(err, log); strings.Contains(all, "cret") || strings.Contains(all, "dTp") {
				t.Errorf("the error or the log contains the password: %s", all)
			}
		})
	}
}

// After a password has changed in the registry and in the file, lookups succeed without a restart.
func TestPasswordRotation(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"basic", "bearer"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, scheme, "one")
			k, file, log := keychainOf(t, registry.KeychainOptions{}, auths(g.host, encoded("one")))
			c := g.client(registry.Options{Keychain: k})
			ask := func() error {
				_, err := c.Digest(t.Context(), g.ref("v1"))
				return err
			}
			if err := ask(); err != nil {
				t.Fatal(err)
			}
			g.change("two")
			if err := ask(); !errors.As(err, new(*registry.UnauthorizedError)) {
				t.Errorf("with the old password: Digest() = %v, want an UnauthorizedError", err)
			}
			write(t, file, `{"auths":{"broken"`)
			k.LookAgain()
			if err := ask(); !errors.As(err, new(*registry.UnauthorizedError)) {
				t.Errorf("with an invalid file: Digest() = %v, want an UnauthorizedError", err)
			}
			write(t, file, auths(g.host, encoded("two")))
			k.LookAgain()
			if err := ask(); err != nil {
				t.Errorf("with the new password: Digest() = %v", err)
			}
			if text := log.String(); strings.Count(text, "credentials are invalid") != 1 || strings.Count(text, "loaded") != 2 {
				t.Errorf("log = %s", text)
			}
		})
	}
}

func resolve(t *testing.T, k authn.Keychain, repository string) (string, error) {
	t.Helper()
	target, err := name.NewRepository(repository)
	if err != nil {
		t.Fatal(err)
	}
	found, err := authn.Resolve(t.Context(), k, target)
	if err != nil {
		return "", err
	}
	config, err := found.Authorization()
	if err != nil {
		t.Fatal(err)
	}
	return config.Username + "|" + config.Password + "|" + config.IdentityToken, nil
}

func TestFileIsReadOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, file, log := keychainOf(t, registry.KeychainOptions{}, auths("r.io", encoded("one")))
		check := func(want string) {
			t.Helper()
			if got, err := resolve(t, k, "r.io/fn"); err != nil || got != want {
				t.Errorf("Resolve() = %q, %v; want %q", got, err, want)
			}
		}
		check("u|one|")
		write(t, file, auths("r.io", encoded("two")))
		time.Sleep(time.Second - time.Nanosecond)
		check("u|one|")
		time.Sleep(time.Nanosecond)
		check("u|two|")
		// A file that is missing or too large has no effect, and is logged once.
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(time.Second)
			check("u|two|")
		}
		write(t, file, strings.Repeat(" ", 1<<20+1))
		for range 3 {
			time.Sleep(time.Second)
			check("u|two|")
		}
		if text := log.String(); strings.Count(text, "no such file") != 1 || strings.Count(text, "larger than") != 1 || strings.Contains(text, "two") {
			t.Errorf("log = %s", text)
		}
		write(t, file, `{}`)
		time.Sleep(time.Second)
		check("||")
	})
}

// store is a keychain with the same user for all repositories.
type store struct{ err error }

func (s store) Resolve(authn.Resource) (authn.Authenticator, error) {
	return authn.FromConfig(authn.AuthConfig{Username: "default"}), s.err
}

func TestCatalogUsesDefaultKeychain(t *testing.T) {
	t.Parallel()
	k, file, _ := keychainOf(t, registry.KeychainOptions{Default: store{}}, auths("ghcr.io", encoded("p")))
	for repository, want := range map[string]string{
		"ghcr.io/kptdev/krm-functions-catalog/set-labels": "u|p|", "ghcr.io/other/fn": "u|p|", "gcr.io/kpt-fn/set-labels": "default||",
		"gcr.io/kpt-fnord/x": "||", "r.io/gcr.io/kpt-fn/x": "||", "kpt-fn/x": "||",
	} {
		if got, err := resolve(t, k, repository); err != nil || got != want {
			t.Errorf("Resolve(%s) = %q, %v; want %q", repository, got, err, want)
		}
	}
	failing := registry.NewKeychain(registry.KeychainOptions{File: file, Default: store{errors.New("a number 12345")}})
	t.Cleanup(failing.Close)
	if _, err := resolve(t, failing, "gcr.io/kpt-fn/x"); err == nil || strings.Contains(err.Error(), "12345") {
		t.Errorf("Resolve() with an invalid default = %v", err)
	}
}

// helpers creates credential helpers and returns an environment with a PATH to them.
func helpers(t *testing.T, scripts map[string]string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		programtest.Write(t, filepath.Join(dir, "docker-credential-"+name), "#!/bin/sh\nread server\n"+script+"\n")
	}
	return []string{"PATH=" + dir + ":/bin:/usr/bin"}
}

func TestCredentialHelpers(t *testing.T) {
	t.Parallel()
	environ := helpers(t, map[string]string{
		"echo":  `echo "{\"Username\":\"$1\",\"Secret\":\"$server\"}"`,
		"token": `echo '{"Username":"<token>","Secret":"t0ken"}'`,
		"none":  `echo "credentials not found in native keychain"; exit 1`,
		"fails": `echo "s3cret"; echo "s3cret" >&2; exit 3`,
		"odd":   `echo "s3cret"`,
		"flood": `cat /dev/zero`,
	})
	const content = `{"auths":{"both.io":{"username":"u","password":"p"},"none.io":{"username":"u","password":"p"}},
		"credHelpers":{"r.io:5000":"echo","docker.io":"echo","both.io":"echo","*.token.io":"token","none.io":"none","fails.io":"fails",
		"odd.io":"odd","flood.io":"flood","lost.io":"lost"},"credsStore":"STORE"}`
	for _, tc := range []struct{ store, repository, want, err string }{
		{"token", "r.io:5000/fn", "get|r.io:5000|", ""},
		{"token", "fn", "get|https://index.docker.io/v1/|", ""},
		{"token", "both.io/fn", "get|both.io|", ""},
		{"token", "a.token.io/fn", "||t0ken", ""},
		{"token", "none.io/fn", "u|p|", ""},
		{"token", "other.io/fn", "||t0ken", ""},
		{"none", "other.io/fn", "||", ""},
		{"fails", "other.io/fn", "||", ""},
		{"none", "fails.io/fn", "", "docker-credential-fails failed for fails.io: exit status 3"},
		{"none", "odd.io/fn", "", "its output is invalid"},
		{"none", "flood.io/fn", "", "larger than the limit of 65536 bytes"},
		{"none", "lost.io/fn", "", "docker-credential-lost"},
	} {
		k, _, log := keychainOf(t, registry.KeychainOptions{Environ: environ}, strings.Replace(content, "STORE", tc.store, 1))
		for range 2 {
			got, err := resolve(t, k, tc.repository)
			if tc.err == "" && (err != nil || got != tc.want) || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("Resolve(%s) with store %s = %q, %v; want %q, %q", tc.repository, tc.store, got, err, tc.want, tc.err)
			}
			if all := fmt.Sprint(err, log); strings.Contains(all, "s3cret") || strings.Contains(all, "t0ken") {
				t.Errorf("the error or the log contains a helper's output: %s", all)
			}
		}
		if said := strings.Count(log.String(), "exit status 3"); tc.store == "fails" && said != 1 {
			t.Errorf("the failing credsStore was logged %d times, want once: %s", said, log)
		}
	}
}

func TestHelperEndsWithTheCaller(t *testing.T) {
	t.Parallel()
	environ := helpers(t, map[string]string{"slow": "exec sleep 1000"})
	k, _, _ := keychainOf(t, registry.KeychainOptions{Environ: environ}, `{"credsStore":"slow"}`)
	target, err := name.NewRepository("r.io/fn")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := k.ResolveContext(ctx, target); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ResolveContext() = %v, want DeadlineExceeded", err)
	}
}
