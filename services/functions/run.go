// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"errors"
	"fmt"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// errFailed is the error of a function that fails with the reason among its results. The text is the SDK's.
var errFailed = errors.New("error: function failure")

// Run evaluates f once over a ResourceList in YAML and returns the ResourceList that it makes of it.
//
// The output is returned on failure too, with the results that explain it, unless the input is no ResourceList, the
// function panics or the context ends. A panic is the error "KRM function panicked with: " and its value; it concerns
// this call only.
//
// Parsing and printing are those of the SDK's fn.Run: items come out sorted by apiVersion, kind, namespace and name.
func Run(ctx context.Context, f Function, in []byte) (out []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			out, err = nil, fmt.Errorf("KRM function panicked with: %v", value)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("evaluate %s: %w", f.Name, err)
	}
	rl, err := fn.ParseResourceList(in)
	if err != nil {
		return nil, err
	}
	if err := expandMetadata(rl.Items); err != nil {
		return nil, err
	}
	ok, fnErr := f.Process(ctx, rl)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("evaluate %s: %w", f.Name, err)
	}
	out, err = printList(rl)
	switch {
	case err != nil:
		return out, fmt.Errorf("print the ResourceList: %w", err)
	case fnErr != nil:
		return out, fnErr
	case !ok:
		return out, errFailed
	}
	return out, nil
}
