// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/programs/progress"
)

func TestStepPrintsReminders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		failure := errors.New("failure")
		err := progress.New(&out).Step("compile", func() error {
			time.Sleep(150 * time.Second)
			return failure
		})
		if !errors.Is(err, failure) {
			t.Errorf("Step() = %v, want the error of the step", err)
		}
		want := "[   0 s] compile\n[  60 s] still: compile\n[ 120 s] still: compile\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	})
}
