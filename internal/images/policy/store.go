// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/krmfn/krmfn/internal/server/configfile"
	"github.com/krmfn/krmfn/internal/server/logging"
)

// Store holds the current policy. It is safe for concurrent use.
type Store struct {
	file   string
	log    *slog.Logger
	policy atomic.Pointer[Policy]
	check  func(*Policy) error

	mu sync.Mutex
	// logged prevents that a reload logs the same problem again.
	logged logging.Once
}

// NewStore returns a store with the policy of a file. A missing or invalid file is an error, because otherwise no policy would be
// enforced and nobody would notice. check, unless nil, returns further errors of a policy.
func NewStore(file string, check func(*Policy) error, log *slog.Logger) (*Store, error) {
	s := &Store{file: file, check: check, log: log}
	policy, err := s.read()
	if err != nil {
		return nil, err
	}
	s.put(policy)
	return s, nil
}

func (s *Store) put(policy *Policy) {
	s.policy.Store(policy)
	s.log.Info("image policy loaded", "file", s.file, "rules", len(policy.rules),
		"floating_tags", string(policy.floating), "signature_rules", len(policy.signatures))
}

// Policy returns the current policy.
func (s *Store) Policy() *Policy { return s.policy.Load() }

// Load reads the file again and reports whether the policy has changed. If the file is missing or invalid, the current policy remains
// in effect, and the error is logged once.
func (s *Store) Load() (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	policy, err := s.read()
	if s.logged.New(err) {
		s.log.Error("the image policy cannot be loaded, the previous one remains in effect", "file", s.file, "err", err)
	}
	if err != nil || reflect.DeepEqual(policy, s.policy.Load()) {
		return false, err
	}
	s.put(policy)
	return true, nil
}

func (s *Store) read() (*Policy, error) {
	policy, err := ReadFile(s.file)
	if err == nil && s.check != nil {
		if err = s.check(policy); err != nil {
			err = fmt.Errorf("%s: %w", s.file, err)
		}
	}
	return policy, err
}

// ReadFile reads a policy and the files that it names. Relative names are relative to the policy's directory.
func ReadFile(file string) (*Policy, error) {
	text, err := configfile.Read(file, MaxSize)
	if err != nil {
		return nil, fmt.Errorf("read the image policy: %w", err)
	}
	policy, err := parsePolicy(text, func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		text, err := configfile.Read(name, MaxFileSize)
		if err == nil && len(text) > MaxFileSize {
			err = fmt.Errorf("file %s has more than %d bytes", name, MaxFileSize)
		}
		return text, err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return policy, nil
}
