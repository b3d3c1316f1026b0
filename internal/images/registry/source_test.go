// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/krmfn/krmfn/internal/images/registry"
)

var errDown = errors.New("registry is down")

// source is a Source without network, for tests with synctest.
type source struct {
	mu     sync.Mutex
	digest string
	err    error
	// takes is the duration of a lookup.
	takes time.Duration
	// lingers is the time that a lookup continues after its context has ended.
	lingers time.Duration
	asked   []string
}

func (s *source) set(digest string, err error, takes time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.digest, s.err, s.takes = digest, err, takes
}

func (s *source) answer(ctx context.Context, question string) (string, error) {
	s.mu.Lock()
	s.asked = append(s.asked, question)
	digest, err, takes := s.digest, s.err, s.takes
	s.mu.Unlock()
	select {
	case <-time.After(takes):
		return digest, err
	case <-ctx.Done():
		time.Sleep(s.lingers)
		return "", ctx.Err()
	}
}

func (s *source) Digest(ctx context.Context, ref string) (string, error) {
	return s.answer(ctx, ref)
}

func (s *source) Image(ctx context.Context, ref, digest string) (registry.Image, error) {
	if strings.HasSuffix(ref, "panics") {
		panic("out of\nreach")
	}
	if _, err := s.answer(ctx, ref+"@"+digest); err != nil {
		return registry.Image{}, err
	}
	return registry.Image{Reference: ref, Digest: digest, Command: []string{"/fn"}}, nil
}

// count returns the number of lookups since the last call.
func (s *source) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.asked = nil }()
	return len(s.asked)
}

// log keeps the messages of a logger.
type log struct {
	slog.Handler

	mu       sync.Mutex
	messages []string
}

func (l *log) Enabled(context.Context, slog.Level) bool { return true }

func (l *log) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages = append(l.messages, r.Message)
	return nil
}

// taken returns the messages since the last call.
func (l *log) taken() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() { l.messages = nil }()
	return l.messages
}
