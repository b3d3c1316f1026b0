// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// secrets contains the credentials that were sent for one lookup. Servers may repeat them in responses, which become part of errors.
type secrets struct {
	mu     sync.Mutex
	values []string
}

type secretsKey struct{}

// withSecrets returns a context that records the credentials of its requests.
func withSecrets(ctx context.Context) (context.Context, *secrets) {
	s := &secrets{}
	return context.WithValue(ctx, secretsKey{}, s), s
}

const (
	// maxSecrets is the maximum number of recorded values. Usually there are a password, its encoded form, and one or two tokens.
	maxSecrets = 16
	// minSecret is the minimum length, in bytes, of a recorded value. Shorter values would match parts of words.
	minSecret = 4
)

func (s *secrets) record(request *http.Request) {
	// The value follows the scheme.
	if _, value, ok := strings.Cut(request.Header.Get("Authorization"), " "); ok {
		s.add(value)
	}
	if _, password, ok := request.BasicAuth(); ok {
		s.add(password)
	}
	if request.GetBody == nil {
		return
	}
	body, err := request.GetBody()
	if err != nil {
		return
	}
	defer body.Close()
	form := &http.Request{Method: http.MethodPost, Header: request.Header, Body: body}
	s.add(form.PostFormValue("refresh_token"))
	s.add(form.PostFormValue("password"))
}

func (s *secrets) add(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(value) >= minSecret && len(s.values) < maxSecrets && !slices.Contains(s.values, value) {
		s.values = append(s.values, value)
	}
}

func (s *secrets) hide(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range s.values {
		text = strings.ReplaceAll(text, value, "…")
	}
	return text
}

// recordingTransport is a transport that records the credentials of requests.
type recordingTransport struct{ http.RoundTripper }

func (n recordingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if s, ok := request.Context().Value(secretsKey{}).(*secrets); ok {
		s.record(request)
	}
	return n.RoundTripper.RoundTrip(request)
}
