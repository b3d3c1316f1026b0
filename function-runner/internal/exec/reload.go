// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"slices"

	"github.com/krmfn/krmfn/internal/server/configfile"
	"github.com/krmfn/krmfn/internal/server/logging"
)

// Config configures a Loader.
type Config struct {
	// File is the config file, and Dir is the directory of the executables.
	File, Dir string
	// Strict makes every problem an error.
	Strict bool
	// Tags controls which tags functions with a version evaluate. Empty means TagsOwn.
	Tags Tags
	// Changed is called after each load that has changed the functions. It may be nil.
	Changed func()
	// Reloaded is called after each reload with whether the functions have changed, or why the file is not used. It may be nil.
	Reloaded func(changed bool, err error)
}

// Loader loads a config file into an evaluator. Its methods are not safe for concurrent use. Load must precede Watch.
type Loader struct {
	config    Config
	evaluator *Evaluator
	// problems and failed prevent repeated log messages.
	problems []configfile.Problem
	failed   logging.Once
}

// NewLoader returns a loader that uses the evaluator's logger.
func NewLoader(e *Evaluator, c Config) *Loader { return &Loader{config: c, evaluator: e} }

// Load reads the config file and replaces the functions of the evaluator. Without Strict, it logs problems and skips the entries that
// they name. On error, the current functions stay. The error names the file, and the line if known.
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

// Watch reloads the config file when it changes, until ctx ends. If the file has an error, or with Strict a problem, Watch logs it, and
// the current functions stay.
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
