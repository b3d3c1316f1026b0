// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// cut sends the first bytes of a response and closes the connection.
func cut(path string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, path) || r.Method == http.MethodHead {
			return false
		}
		w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
		_, _ = io.WriteString(w, `{"schemaVersion":2,`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// hang sends the first bytes of a response and then nothing.
func hang(path string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, path) || r.Method == http.MethodHead {
			return false
		}
		w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
		_, _ = io.WriteString(w, `{"schemaVersion":2,`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	}
}

func TestIncompleteResponses(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/manifests/", "/blobs/", "/tags/list"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			pushed := s.push(t, "v1", newIndex(t, "linux/amd64", "linux/arm64"))
			s.answer(cut(path))
			err := askAll(t, s.client(registry.Options{}), s, pushed)
			if err == nil || kind(err) != "other" || !strings.Contains(err.Error(), "incomplete, try again later") {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
}

func TestHangingResponses(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/manifests/", "/blobs/", "/tags/list"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			pushed := s.push(t, "v1", newIndex(t, "linux/amd64", "linux/arm64"))
			s.answer(hang(path))
			err := askAll(t, s.client(registry.Options{Timeout: 200 * time.Millisecond}), s, pushed)
			if err == nil || !strings.Contains(err.Error(), "no response from "+s.host+" within 200ms") {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
}

// askAll looks up digest, image and tags, and returns the first error.
func askAll(t *testing.T, c *registry.Client, s *server, pushed string) error {
	t.Helper()
	if _, err := c.Digest(t.Context(), s.ref("v1")); err != nil {
		return err
	}
	if _, err := c.Image(t.Context(), s.ref("v1"), pushed); err != nil {
		return err
	}
	_, err := c.Tags(t.Context(), s.ref("v1"))
	return err
}

func TestHostileResponses(t *testing.T) {
	t.Parallel()
	index := func(child string, mediaType types.MediaType) string {
		return fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":%q,"size":1,"digest":%q}]}`, mediaType, child)
	}
	self := index(digest, types.OCIImageIndex)
	large := `{"schemaVersion":2,"x":"` + strings.Repeat("x", 3<<20) + `"}`
	for name, tc := range map[string]struct {
		body string
		// others are further manifests.
		others []string
		kind   string
		want   string
	}{
		"enormous":             {body: strings.Repeat(" ", 9<<20), kind: "other", want: "larger than 8388608 bytes"},
		"deep":                 {body: strings.Repeat("[", 1<<20), kind: "other", want: "exceeded max depth"},
		"enormous child":       {body: index(sum([]byte(large)), types.OCIManifestSchema1), others: []string{large}, kind: "other", want: "larger than 2097152 bytes"},
		"contains itself":      {body: self, kind: "other", want: "does not match requested digest"},
		"child without digest": {body: `{"manifests":[{"mediaType":"` + string(types.OCIManifestSchema1) + `"}]}`, kind: "unusable", want: "it has no image"},
		"child of other kind": {
			body:   index(sum([]byte(index(digest, types.OCIManifestSchema1))), types.OCIManifestSchema1),
			others: []string{index(digest, types.OCIManifestSchema1)}, kind: "other", want: "invalid digest",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.answer(func(w http.ResponseWriter, r *http.Request) bool {
				// This index contains itself, under a digest that cannot match.
				if strings.HasSuffix(r.URL.Path, "/manifests/"+digest) {
					w.Header().Set("Content-Type", string(types.OCIImageIndex))
					_, _ = io.WriteString(w, self)
					return true
				}
				for _, body := range append(tc.others, tc.body) {
					if serves(types.OCIImageIndex, body)(w, r) {
						return true
					}
				}
				return false
			})
			_, err := s.client(registry.Options{}).Image(t.Context(), s.ref("v1"), sum([]byte(tc.body)))
			if err == nil || kind(err) != tc.kind || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Image() = %v, want %s: %s", err, tc.kind, tc.want)
			}
			if asked := s.asked(); len(asked) > 4 {
				t.Errorf("requests = %q, want at most 4", asked)
			}
		})
	}
}

// If the registry redirects to another server for blobs, that server gets no credentials, even if it requests some.
func TestRedirectedBlobs(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"basic", "bearer"} {
		for _, asks := range []string{"", `Basic realm="x"`, `Bearer realm="https://blobs.example.com/token",service="x"`} {
			t.Run(scheme+asks, func(t *testing.T) {
				t.Parallel()
				g, blobs := newGuard(t, scheme, "s3cret"), newServer(t)
				image := newImage(t, "linux/amd64", runs("/fn"))
				pushed := g.push(t, "v1", image)
				blobs.push(t, "v1", image)
				_, port, _ := strings.Cut(blobs.host, ":")
				var sent []string
				blobs.answer(func(w http.ResponseWriter, r *http.Request) bool {
					sent = append(sent, fmt.Sprint(r.Header, r.URL.Query()))
					if asks != "" && len(sent) == 1 {
						w.Header().Set("WWW-Authenticate", strings.Replace(asks, "com/", "com:"+port+"/", 1))
						w.WriteHeader(http.StatusUnauthorized)
						return true
					}
					return false
				})
				g.answer(func(w http.ResponseWriter, r *http.Request) bool {
					if g.refuse(w, r) {
						return true
					}
					if strings.Contains(r.URL.Path, "/blobs/") {
						http.Redirect(w, r, "https://blobs.example.com:"+port+r.URL.Path, http.StatusTemporaryRedirect)
						return true
					}
					return false
				})
				k, _, _ := keychainOf(t, registry.KeychainOptions{}, auths(g.host, encoded("s3cret")))
				c := registry.NewClient(registry.Options{Keychain: k, Transport: g.local(t)})
				got, err := c.Image(t.Context(), g.ref("v1"), pushed)
				if asks == "" && (err != nil || got.Command[0] != "/fn") {
					t.Errorf("Image() = %+v, %v", got, err)
				}
				if len(sent) == 0 {
					t.Error("no request to the blob server")
				}
				for _, one := range sent {
					if strings.Contains(one, "s3cret") || strings.Contains(one, "Authorization") {
						t.Errorf("request to the blob server contains credentials: %s", one)
					}
				}
			})
		}
	}
}

// Credentials that a registry or token server sends back are in no error and no log.
func TestEchoedCredentials(t *testing.T) {
	t.Parallel()
	const password, token = "pa55w0rd-of-u", "t0ken-of-u"
	basic := base64.StdEncoding.EncodeToString([]byte("u:" + password))
	say := func(status int) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, _ *http.Request, echo string) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, echo)
		}
	}
	answers := map[string]func(http.ResponseWriter, *http.Request, string){
		"error": say(http.StatusBadRequest), "refused": say(http.StatusForbidden), "lost": say(http.StatusNotFound),
		"busy": say(http.StatusTooManyRequests), "fails": say(http.StatusInternalServerError), "page": say(http.StatusOK),
		"diagnosis": func(w http.ResponseWriter, _ *http.Request, echo string) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprintf(w, `{"errors":[{"code":"DENIED","message":%q,"detail":%q}]}`, echo, echo)
		},
		"long": func(w http.ResponseWriter, _ *http.Request, echo string) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, strings.Repeat(echo, 20))
		},
		"redirect": func(w http.ResponseWriter, r *http.Request, echo string) {
			http.Redirect(w, r, "https://127.0.0.1:1/"+strings.ReplaceAll(echo, " ", "/")+"?x="+echo, http.StatusTemporaryRedirect)
		},
		"digest": func(w http.ResponseWriter, _ *http.Request, echo string) {
			w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
			w.Header().Set("Docker-Content-Digest", echo)
			_, _ = fmt.Fprintf(w, `{"config":{"digest":%q}}`, echo)
		},
		"challenge": func(w http.ResponseWriter, _ *http.Request, echo string) {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s"`, echo))
			w.WriteHeader(http.StatusUnauthorized)
		},
		"cut":    func(w http.ResponseWriter, r *http.Request, _ string) { cut("")(w, r) },
		"header": func(w http.ResponseWriter, _ *http.Request, echo string) { w.Header().Set("Content-Type", echo) },
	}
	for name, answer := range answers {
		for _, entry := range []string{encoded(password), `{"identitytoken":"` + password + `"}`} {
			for _, at := range []string{"/manifests/", "/blobs/", "/tags/", "/token", "/v2/"} {
				t.Run(name+entry[:6]+at, func(t *testing.T) {
					t.Parallel()
					s := newServer(t)
					pushed := s.push(t, "v1", newImage(t, "", runs("/fn")))
					echoed := false
					s.answer(func(w http.ResponseWriter, r *http.Request) bool {
						known := r.Header.Get("Authorization") == "Bearer "+token
						switch {
						case strings.Contains(r.URL.Path, at) && (known || at == "/token" || at == "/v2/" && r.URL.Path != "/v2/"):
							echoed = true
							_ = r.ParseForm()
							echo := strings.TrimSpace(strings.Join([]string{r.Header.Get("Authorization"), r.PostForm.Get("refresh_token"), password}, " "))
							if !strings.Contains(fmt.Sprint(r.Header, r.PostForm), password) && !strings.Contains(r.Header.Get("Authorization"), basic) {
								echo = r.Header.Get("Authorization")
							}
							answer(w, r, echo)
						case r.URL.Path == "/token":
							_, _ = fmt.Fprintf(w, `{"token":%q}`, token)
						case known:
							return false
						default:
							w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+s.host+`/token",service="x"`)
							w.WriteHeader(http.StatusUnauthorized)
						}
						return true
					})
					k, _, log := keychainOf(t, registry.KeychainOptions{}, auths(s.host, entry))
					c := s.client(registry.Options{Keychain: k})
					err := askAll(t, c, s, pushed)
					for _, secret := range []string{password, basic, token} {
						if all := fmt.Sprint(err, log); strings.Contains(all, secret) {
							t.Errorf("%q is in the error or the log: %s", secret, all)
						}
					}
					if err == nil && name != "header" && name != "digest" || !echoed {
						t.Errorf("error %v, response sent: %t", err, echoed)
					}
				})
			}
		}
	}
}
