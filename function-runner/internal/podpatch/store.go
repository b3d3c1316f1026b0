// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podpatch

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/krmfn/krmfn/services/server/configfile"
	"github.com/krmfn/krmfn/services/server/logging"
)

// For returns the patches of a function's pods, by its resolved reference, in the order in which they are applied. Nil Patches have none.
func (p *Patches) For(ref string) []Patch {
	if p == nil {
		return nil
	}
	patches := slices.Clone(p.defaults)
	repository := repositoryOf(ref)
	for _, o := range p.overrides {
		if slices.ContainsFunc(o.images, func(i pattern) bool { return i.matches(repository) }) {
			patches = append(patches, o.patch)
		}
	}
	return patches
}

// Store has the patches that are in force. Reading it may be done by any number of goroutines at once.
type Store struct {
	file    string
	log     *slog.Logger
	patches atomic.Pointer[Patches]
	// logged keeps a recheck from repeating a problem.
	logged logging.Once
}

// NewStore returns the patches of a file; none without a file. A file that is missing or wrong is an error: functions would run with
// less isolation than they are to have, and nobody would notice.
func NewStore(file string, log *slog.Logger) (*Store, error) {
	s := &Store{file: file, log: log}
	if file == "" {
		return s, nil
	}
	patches, err := readFile(file)
	if err != nil {
		return nil, err
	}
	s.put(patches)
	return s, nil
}

func (s *Store) put(patches *Patches) {
	s.patches.Store(patches)
	s.log.Info("settings of function pods loaded", "file", s.file, "defaults", len(patches.defaults) > 0, "overrides", len(patches.overrides))
}

// For returns the patches of a function's pods; see Patches.For. A nil Store has none.
func (s *Store) For(reference string) []Patch {
	if s == nil {
		return nil
	}
	return s.patches.Load().For(reference)
}

// Load reads the file again and tells whether that has changed anything. A file that is wrong by now, or gone, is an error and leaves
// in force what was; it is logged once. It is called by one goroutine at a time.
func (s *Store) Load() (changed bool, err error) {
	patches, err := readFile(s.file)
	if s.logged.New(err) {
		s.log.Error("the settings of function pods cannot be loaded, those before stay in force", "file", s.file, "err", err)
	}
	if err != nil || reflect.DeepEqual(patches, s.patches.Load()) {
		return false, err
	}
	s.put(patches)
	return true, nil
}

func readFile(file string) (*Patches, error) {
	text, err := configfile.Read(file, MaxSize)
	if err != nil {
		return nil, fmt.Errorf("read the settings of function pods: %w", err)
	}
	patches, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("settings of function pods in %s: %w", file, err)
	}
	return patches, nil
}
