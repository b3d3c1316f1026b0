// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podpatch

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/krmfn/krmfn/internal/server/configfile"
	"github.com/krmfn/krmfn/internal/server/logging"
)

// For returns the patches for a function's pods, by its resolved reference, in the order in which they apply. It returns none if p is
// nil.
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

// Store holds the current patches. Its method For is safe for concurrent use.
type Store struct {
	file    string
	log     *slog.Logger
	patches atomic.Pointer[Patches]
	// logged prevents repeated log messages.
	logged logging.Once
}

// NewStore returns a store with the patches in a file, or without patches if file is empty. It fails if the file is missing or invalid,
// because functions would silently run with less isolation than configured.
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

// For returns the patches for a function's pods; see Patches.For. It returns none if s is nil.
func (s *Store) For(reference string) []Patch {
	if s == nil {
		return nil
	}
	return s.patches.Load().For(reference)
}

// Load reads the file again and reports whether the patches have changed. If the file is missing or invalid, it returns an error, logs
// the error once, and keeps the current patches. Only one goroutine may call Load at a time.
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
