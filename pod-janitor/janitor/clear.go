// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package janitor

import (
	"context"
	"fmt"
	"time"
)

// clearPause is the pause between the sweeps that delete everything.
const clearPause = 2 * time.Second

// clear sweeps until there has been nothing of ours for the grace: a function runner that is being uninstalled still makes pods
// for the calls that it has. The error is that of a sweep, or that there is no end of it.
func (j *Janitor) clear(ctx context.Context) error {
	o := j.config.Options
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout,
		fmt.Errorf("after the %v of --timeout there still are objects, or new ones: are all function runners gone?", o.Timeout))
	defer cancel()
	empty := time.Now()
	for {
		r, err := j.sweep(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		for _, n := range r.Seen {
			if n > 0 {
				empty = time.Now()
			}
		}
		if time.Since(empty) >= o.Rules.Grace {
			return nil
		}
		timer := time.NewTimer(clearPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}
