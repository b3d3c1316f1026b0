// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"context"
	"errors"
)

// Chain asks evaluators in order. The first that knows the function gives the answer, failure or not; only a
// *NotFoundError moves on. An empty chain knows no function.
func Chain(evaluators ...Evaluator) Evaluator {
	return Func(func(ctx context.Context, req Request) (Response, error) {
		for _, e := range evaluators {
			resp, err := e.Evaluate(ctx, req)
			if !errors.As(err, new(*NotFoundError)) {
				return resp, err
			}
		}
		return Response{}, &NotFoundError{Image: req.Image}
	})
}
