// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator

import (
	"errors"
	"fmt"
	"testing"

	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/services/evaluation"
)

// The error code distinguishes errors in a Kptfile from failures of registries and clusters.
func TestCodeOfStartErrors(t *testing.T) {
	t.Parallel()
	for want, errs := range map[string][]error{
		"image_rejected": {&registry.NotFoundError{}, &registry.UnauthorizedError{}, &registry.UnusableError{}, &policy.RefusedError{}},
		"start_failed":   {&registry.ThrottledError{}, errors.New("quota exceeded")},
	} {
		for _, err := range errs {
			started := (&call{}).startError(fmt.Errorf("look up: %w", err))
			if got := middleware.Code(evaluation.Response{}, started); got != want {
				t.Errorf("Code() of %T = %s, want %s", err, got, want)
			}
		}
	}
}
