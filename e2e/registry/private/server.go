// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package private provides a container registry like those in companies, with passwords and with certificates of a private authority. It
// can simulate faults.
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

// Server is a registry in memory, in this process. Its methods are safe for concurrent use.
type Server struct {
	// Address is the IP:PORT that the registry listens on. Image references contain it.
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

// Login holds the credentials of clients.
type Login struct {
	User, Password string
	// Bearer makes clients get a token first, like Docker Hub. Otherwise each request contains the password.
	Bearer bool
}

// Fault is a simulated fault of a registry.
type Fault int

const (
	// NoFault means normal operation.
	NoFault Fault = iota
	// Hang accepts requests and does not respond.
	Hang
	// RateLimit responds with status 429.
	RateLimit
	// Truncate closes connections in the middle of responses.
	Truncate
)

// RetryAfter is the value of the Retry-After header with the fault RateLimit.
const RetryAfter = 3 * time.Second

// Start starts a registry on a free port of a host, with a certificate of an authority. The caller must call Close.
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

// tls returns the current certificate for each new connection.
func (s *Server) tls(*tls.ClientHelloInfo) (*tls.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{s.certificate}}, nil
}

// Close stops the registry and aborts running requests.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// SetAuthority replaces the certificate with one of another authority. It closes all connections, because they would keep the old
// certificate.
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

// SetLogin changes the credentials. It invalidates existing tokens.
func (s *Server) SetLogin(login Login) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login = login
}

// OnRefusal sets a function that is called with each unauthorised request before the response. Nil removes the function.
func (s *Server) OnRefusal(refusing func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusing = refusing
}

// SetFault sets the fault and returns the previous one.
func (s *Server) SetFault(fault Fault) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.fault
	s.fault = fault
	return before
}

// Requests returns the number of requests since the last call of Requests.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.requests = 0 }()
	return s.requests
}

// Push stores an image as NAME:TAG, independent of faults and credentials. It returns the image's reference and digest.
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

// Writing returns go-containerregistry options for writing to the registry, independent of credentials and faults.
func (s *Server) Writing(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithTransport(inProcess{s.content})}
}

// inProcess is a transport that calls a handler.
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
