// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package private

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
)

// tokens is the path of the token endpoint.
const tokens = "/token"

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	fault, login, refusing := s.fault, s.login, s.refusing
	s.mu.Unlock()
	switch fault {
	case Hang:
		<-r.Context().Done()
		return
	case RateLimit:
		w.Header().Set("Retry-After", strconv.Itoa(int(RetryAfter.Seconds())))
		refuse(w, http.StatusTooManyRequests, "TOOMANYREQUESTS", "you have reached your limit")
		return
	case Truncate:
		// The server sends less than it announced and then closes the connection.
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("{"))
		return
	case NoFault:
	}
	switch {
	case r.URL.Path == tokens:
		login.grant(w, r)
	case !login.permits(r):
		if refusing != nil {
			refusing(r)
		}
		w.Header().Set("WWW-Authenticate", login.challenge(r))
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
	default:
		s.content.ServeHTTP(w, r)
	}
}

func refuse(w http.ResponseWriter, code int, name, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []any{map[string]string{"code": name, "message": message}}})
}

func (l Login) challenge(r *http.Request) string {
	if l.Bearer {
		return `Bearer realm="https://` + r.Host + tokens + `",service="` + r.Host + `"`
	}
	return `Basic realm="private"`
}

// permits reports whether a request is authorized.
func (l Login) permits(r *http.Request) bool {
	if l.Bearer {
		return r.Header.Get("Authorization") == "Bearer "+l.token()
	}
	return l.knows(r)
}

func (l Login) knows(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	return ok && user == l.User && password == l.Password
}

// grant responds to a token request in the form of Docker clients or in the form of OAuth 2, which containerd tries first. A request
// without a password gets a token without permissions, as in registries with public images.
func (l Login) grant(w http.ResponseWriter, r *http.Request) {
	token := "anonymous"
	switch given := r.PostFormValue("password") != "" || r.Header.Get("Authorization") != ""; {
	case l.knows(r), r.PostFormValue("username") == l.User && r.PostFormValue("password") == l.Password:
		token = l.token()
	case given:
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "incorrect username or password")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"token": token, "access_token": token})
}

// token returns the bearer token, which depends on the password.
func (l Login) token() string {
	sum := sha256.Sum256([]byte(l.User + "\x00" + l.Password))
	return "token-" + hex.EncodeToString(sum[:])
}
