// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"time"
)

// errFinal is for what waiting does not mend.
var errFinal = errors.New("it has to be made anew")

// eventually tries a check until it succeeds, its error is errFinal, or the time is over. The error is the check's.
func eventually(ctx context.Context, timeout time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var last error
	for {
		err := check(ctx)
		if err == nil || errors.Is(err, errFinal) {
			return err
		}
		// That the time is over tells less than what was the matter before.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(200 * time.Millisecond):
		}
	}
}
