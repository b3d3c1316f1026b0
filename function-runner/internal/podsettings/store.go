// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podsettings has the settings of --pod-cache-config in force and looks them up by the references that calls have.
package podsettings

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/krmfn/krmfn/services/cluster/podcacheconfig"
	"github.com/krmfn/krmfn/services/server/configfile"
)

// Store has the settings that are in force. Reading it may be done by any number of goroutines at once.
type Store struct {
	file      string
	reference func(image string) (string, error)
	log       *slog.Logger
	settings  atomic.Pointer[map[string]podcacheconfig.Settings]
	// logged are the latest messages that were logged, so that a recheck does not repeat them.
	logged []string
}

// NewStore returns the settings of a file, which is not read yet. reference makes of an image in it what calls of it are
// resolved to.
func NewStore(file string, reference func(image string) (string, error), log *slog.Logger) *Store {
	s := &Store{file: file, reference: reference, log: log}
	s.settings.Store(&map[string]podcacheconfig.Settings{})
	return s
}

// For returns the settings of a function, by its resolved reference; all zero where it has none.
func (s *Store) For(reference string) podcacheconfig.Settings { return (*s.settings.Load())[reference] }

// All returns the references of the functions with settings that a condition holds for, sorted.
func (s *Store) All(that func(podcacheconfig.Settings) bool) []string {
	var all []string
	for reference, settings := range *s.settings.Load() {
		if that(settings) {
			all = append(all, reference)
		}
	}
	slices.Sort(all)
	return all
}

// Load reads the file and tells whether that has changed anything. An installation can do without the file; a broken one is an error
// and leaves in force what was. Both are logged, and so are problems with single entries.
func (s *Store) Load() (changed bool, err error) {
	settings, problems, err := s.read()
	messages := make([]string, 0, len(problems)+1)
	for _, p := range problems {
		messages = append(messages, p.Error())
	}
	if err != nil {
		messages = append(messages, err.Error())
	}
	for _, problem := range messages {
		if !slices.Contains(s.logged, problem) {
			s.log.Warn("a problem in the pod settings", "file", s.file, "problem", problem)
		}
	}
	s.logged = messages
	switch {
	case errors.Is(err, errNoFile):
		return false, nil
	case err != nil:
		return false, err
	}
	loaded := make(map[string]podcacheconfig.Settings, len(settings))
	for _, one := range settings {
		if reference, err := s.reference(one.Image); err == nil {
			loaded[reference] = one
		}
	}
	if reflect.DeepEqual(loaded, *s.settings.Load()) {
		return false, nil
	}
	s.settings.Store(&loaded)
	s.log.Info("pod settings loaded", "file", s.file, "functions", len(loaded))
	return true, nil
}

var errNoFile = errors.New("the file does not exist, so the flags apply to all functions: see --pod-cache-config")

func (s *Store) read() ([]podcacheconfig.Settings, []configfile.Problem, error) {
	text, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errNoFile
	}
	if err != nil {
		return nil, nil, err
	}
	return podcacheconfig.Parse(text)
}
