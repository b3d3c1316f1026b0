// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package private is a registry as companies have them: with passwords and with certificates of an authority of its own. It
// fails on demand.
package private

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Server is a registry, in memory and in this process. Its methods may be called at any time, by any number of goroutines.
type Server struct {
	// Address is where it listens, IP:PORT, and its name in references of images.
	Address string

	content http.Handler
	http    *httptest.Server

	mu          sync.Mutex
	certificate tls.Certificate
	login       Login
	fault       Fault
	refusing    func(*http.Request)
	requests    int
}

// Login is how clients prove who they are.
type Login struct {
	User, Password string
	// Bearer has clients get a token first, as Docker Hub does; otherwise each request has the password.
	Bearer bool
}

// Fault is what a registry does wrong.
type Fault int

const (
	// NoFault serves.
	NoFault Fault = iota
	// Hang takes requests and does not answer.
	Hang
	// RateLimit answers that there were too many requests.
	RateLimit
	// Truncate closes connections in the middle of answers.
	Truncate
)

// RetryAfter is how long a registry with the fault RateLimit asks its clients to wait.
const RetryAfter = 3 * time.Second

// Start starts a registry at a free port of an address, with a certificate of an authority. Close ends it.
func Start(ctx context.Context, host string, authority *Authority, login Login) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("start a private registry: %w", err)
	}
	quiet := slog.NewLogLogger(slog.DiscardHandler, 0)
	s := &Server{Address: listener.Addr().String(), content: registry.New(registry.Logger(quiet)), login: login}
	s.http = &httptest.Server{
		Listener: listener,
		Config:   &http.Server{Handler: http.HandlerFunc(s.serve), ErrorLog: quiet, ReadHeaderTimeout: time.Minute},
		TLS:      &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: s.tls},
	}
	if err := s.SetAuthority(authority); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.http.StartTLS()
	return s, nil
}

// tls has each connection begin under the certificate of its time.
func (s *Server) tls(*tls.ClientHelloInfo) (*tls.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{s.certificate}}, nil
}

// Close ends the registry and all that it was doing.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// SetAuthority has the registry show a certificate of an authority from now on. It closes all connections, which would go on
// under the former certificate.
func (s *Server) SetAuthority(authority *Authority) error {
	host, _, err := net.SplitHostPort(s.Address)
	if err != nil {
		return err
	}
	certificate, err := authority.issue(host)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.certificate = certificate
	s.mu.Unlock()
	s.http.CloseClientConnections()
	return nil
}

// SetLogin changes the password. Former tokens are refused from now on.
func (s *Server) SetLogin(login Login) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login = login
}

// OnRefusal has a function called with each request that has no permission, before the answer; nil for none.
func (s *Server) OnRefusal(refusing func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusing = refusing
}

// SetFault changes the fault, and returns the former one.
func (s *Server) SetFault(fault Fault) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.fault
	s.fault = fault
	return before
}

// Requests returns how many requests there were since it was last called.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.requests = 0 }()
	return s.requests
}

// Push puts an image there, as NAME:TAG, whatever the fault, and without a password. It returns the image's reference and digest.
func (s *Server) Push(ctx context.Context, tagged string, image v1.Image) (reference, digest string, err error) {
	reference = s.Address + "/" + tagged
	ref, err := name.NewTag(reference)
	if err != nil {
		return "", "", err
	}
	if err := remote.Write(ref, image, s.Writing(ctx)...); err != nil {
		return "", "", fmt.Errorf("push %s: %w", reference, err)
	}
	hash, err := image.Digest()
	return reference, hash.String(), err
}

// Writing returns the options with which go-containerregistry writes to the registry, whatever login and faults it has.
func (s *Server) Writing(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithTransport(inProcess{s.content})}
}

// inProcess sends requests to a handler.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(request *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	if request.Body == nil {
		request.Body = http.NoBody
	}
	p.ServeHTTP(recorder, request)
	response := recorder.Result()
	response.Request = request
	return response, nil
}
