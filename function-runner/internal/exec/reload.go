// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"slices"

	"github.com/krmfn/krmfn/services/server/configfile"
	"github.com/krmfn/krmfn/services/server/logging"
)

// Config says where functions with executables are configured.
type Config struct {
	// File is the config file; Dir is the directory of the executables.
	File, Dir string
	// Strict makes every problem an error.
	Strict bool
	// Tags says which tags functions with a version answer to; empty means TagsOwn.
	Tags Tags
	// Changed is called after each reload that took effect; it may be nil.
	Changed func()
	// Reloaded is told, after each reload, whether it has changed anything, or why the file is not used; it may be nil.
	Reloaded func(changed bool, err error)
}

// Loader puts a config file in force in an evaluator. Load comes before Watch; they are not for use at once.
type Loader struct {
	config    Config
	evaluator *Evaluator
	// problems and failed keep a recheck from repeating what was logged.
	problems []configfile.Problem
	failed   logging.Once
}

// NewLoader returns a loader that logs what it finds where the evaluator logs.
func NewLoader(e *Evaluator, c Config) *Loader { return &Loader{config: c, evaluator: e} }

// Load reads the config file and puts it in force. Without Strict, problems are logged and the entries that they name are
// left out. An error leaves in force what was; it names the file, and the line where there is one.
func (l *Loader) Load() error {
	_, err := l.load()
	return err
}

func (l *Loader) load() (changed bool, err error) {
	loaded, problems, err := loadFunctions(l.config.File, l.config.Dir, l.evaluator.prefix, l.config.Tags)
	if err != nil {
		return false, err
	}
	if l.config.Strict && len(problems) > 0 {
		return false, problemsError(l.config.File, problems)
	}
	for _, p := range problems {
		if !slices.Contains(l.problems, p) {
			l.evaluator.log.Warn("a problem in the config file", "file", l.config.File, "line", p.Line, "problem", p.Text)
		}
	}
	l.problems = problems
	if !l.evaluator.load(loaded) {
		return false, nil
	}
	images := 0
	for _, f := range loaded {
		images += len(f.Images)
	}
	l.evaluator.log.Info("functions with executables loaded", "file", l.config.File, "functions", len(loaded), "images", images)
	if l.config.Changed != nil {
		l.config.Changed()
	}
	return true, nil
}

// Watch reloads the config file whenever it changes, until ctx ends. A file that has an error, or with Strict a problem,
// is reported and leaves in force what was.
func (l *Loader) Watch(ctx context.Context) error {
	return configfile.Watch(ctx, l.config.File, l.evaluator.log, l.reload)
}

func (l *Loader) reload() {
	changed, err := l.load()
	if l.failed.New(err) {
		l.evaluator.log.Error("the changed config file is not used, the one before it stays in force", "err", err)
	}
	if l.config.Reloaded != nil {
		l.config.Reloaded(changed, err)
	}
}
