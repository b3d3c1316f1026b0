// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/krmfn/krmfn/internal/cluster/podcacheconfig"
	"github.com/krmfn/krmfn/internal/server/configfile"
)

// settingsFile provides the settings in the file of --pod-cache-config by the resolved references of calls. Its methods other than Load are safe for concurrent use.
type settingsFile struct {
	file      string
	reference func(image string) (string, error)
	log       *slog.Logger
	settings  atomic.Pointer[map[string]podcacheconfig.Settings]
	// logged holds the messages of the latest load, to prevent repeated log messages.
	logged []string
}

// newSettingsFile returns a settingsFile without settings until Load. reference resolves the images in the file like the images of calls.
func newSettingsFile(file string, reference func(image string) (string, error), log *slog.Logger) *settingsFile {
	s := &settingsFile{file: file, reference: reference, log: log}
	s.settings.Store(&map[string]podcacheconfig.Settings{})
	return s
}

// For returns the settings of a function by its resolved reference, or zero Settings if there are none.
func (s *settingsFile) For(reference string) podcacheconfig.Settings {
	return (*s.settings.Load())[reference]
}

// All returns the references of the functions whose settings satisfy a condition, sorted.
func (s *settingsFile) All(that func(podcacheconfig.Settings) bool) []string {
	var all []string
	for reference, settings := range *s.settings.Load() {
		if that(settings) {
			all = append(all, reference)
		}
	}
	slices.Sort(all)
	return all
}

// Load reads the file and reports whether the settings have changed. A missing file is not an error. An unreadable or invalid file is an
// error, and keeps the current settings. Load logs these cases and problems of single entries once. Only one goroutine may call Load at a
// time.
func (s *settingsFile) Load() (changed bool, err error) {
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
	case errors.Is(err, errNoSettings):
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

var errNoSettings = errors.New("the file does not exist, so the flags apply to all functions: see --pod-cache-config")

func (s *settingsFile) read() ([]podcacheconfig.Settings, []configfile.Problem, error) {
	text, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errNoSettings
	}
	if err != nil {
		return nil, nil, err
	}
	return podcacheconfig.Parse(text)
}
