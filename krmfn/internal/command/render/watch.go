// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/krmfn/internal/watch"
)

// maxNamed is the maximum number of changed files that a line names.
const maxNamed = 3

// watch renders a package, and again whenever its files change, until ctx ends, which is no error.
func (c *command) watch(ctx context.Context, dir string) (err error) {
	watcher, err := watch.New(dir)
	if err != nil {
		return failure.Usage(err)
	}
	defer func() { err = errors.Join(err, watcher.Close()) }()
	for {
		// What changes while the functions run is found afterwards.
		known, err := watcher.Files()
		if err != nil {
			return err
		}
		w, err := c.once(ctx, dir)
		if ctx.Err() != nil {
			return nil
		}
		if err := c.tell(ctx, w, err); err != nil {
			return err
		}
		watcher.Written(known, w.Output.Changes)
		c.Note("Watching %s for changes. Press Ctrl-C to stop.", dir)
		changed, err := watcher.Wait(ctx, known)
		if err != nil || len(changed) == 0 {
			return err
		}
		c.Note("\n%s changed.", terminal.Safe(listed(changed)))
	}
}

// tell shows how a render went that is not the last: what it has changed, or why it failed.
func (c *command) tell(ctx context.Context, w output.Work, err error) error {
	switch {
	case err != nil:
		failure.Print(c.Err, failure.Code(ctx, err), err, c.StackTrace())
		return nil
	case c.output.DryRun || c.output.JSON():
		// The changes have been shown.
		return nil
	}
	return report.WriteDiff(c.Out, w.Output.Changes)
}

// listed names files, the first few of many.
func listed(files []string) string {
	if more := len(files) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(files[:maxNamed], ", "), more)
	}
	return strings.Join(files, ", ")
}
