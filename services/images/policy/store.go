// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/krmfn/krmfn/services/server/configfile"
	"github.com/krmfn/krmfn/services/server/logging"
)

// Store has the policy that is in force. It may be used by any number of goroutines at once.
type Store struct {
	file   string
	log    *slog.Logger
	policy atomic.Pointer[Policy]

	mu sync.Mutex
	// logged keeps a recheck from repeating a problem.
	logged logging.Once
}

// NewStore returns the policy of a file. A file that is missing or wrong is an error: nothing would be enforced, and nobody
// would notice.
func NewStore(file string, log *slog.Logger) (*Store, error) {
	policy, err := readFile(file)
	if err != nil {
		return nil, err
	}
	s := &Store{file: file, log: log}
	s.put(policy)
	return s, nil
}

func (s *Store) put(policy *Policy) {
	s.policy.Store(policy)
	s.log.Info("image policy loaded", "file", s.file, "rules", len(policy.rules), "floating_tags", string(policy.floating))
}

// Policy returns the policy that is in force.
func (s *Store) Policy() *Policy { return s.policy.Load() }

// Load reads the file again and tells whether that has changed anything. A file that is wrong by now, or gone, leaves in
// force what was, and is logged once.
func (s *Store) Load() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	policy, err := readFile(s.file)
	if s.logged.New(err) {
		s.log.Error("the image policy cannot be loaded, the one before stays in force", "file", s.file, "err", err)
	}
	if err != nil || reflect.DeepEqual(policy, s.policy.Load()) {
		return false
	}
	s.put(policy)
	return true
}

func readFile(file string) (*Policy, error) {
	text, err := configfile.Read(file, MaxSize)
	if err != nil {
		return nil, fmt.Errorf("read the image policy: %w", err)
	}
	policy, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return policy, nil
}
