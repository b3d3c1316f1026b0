// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"errors"
	"fmt"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// errFailed is the error of a function that fails with the reason among its results. The text is the SDK's.
var errFailed = errors.New("error: function failure")

// PanicError is the error of a function that has panicked. It concerns one call only.
type PanicError struct{ Value any }

// panicPrefix is the SDK's.
const panicPrefix = "KRM function panicked with: "

func (e *PanicError) Error() string { return panicPrefix + fmt.Sprint(e.Value) }

func catch(err *error) {
	if value := recover(); value != nil {
		*err = &PanicError{value}
	}
}

// Run evaluates f once over a ResourceList in YAML and returns the ResourceList that it makes of it.
//
// The output is returned on failure too, with the results that explain it, unless the input is no ResourceList, the
// function panics (a [PanicError]) or the context ends.
//
// Parsing and printing are those of the SDK's fn.Run: items come out sorted by apiVersion, kind, namespace and name, but for
// functions that keep their list (KeepsList).
func Run(ctx context.Context, f Function, in []byte) (out []byte, err error) {
	defer catch(&err)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("evaluate %s: %w", f.Name, err)
	}
	rl, err := parseList(in)
	if err != nil {
		return nil, err
	}
	if err := expandMetadata(rl.Items); err != nil {
		return nil, err
	}
	failure := f.Apply(ctx, rl)
	if errors.As(failure, new(*PanicError)) {
		return nil, failure
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("evaluate %s: %w", f.Name, err)
	}
	apiVersion := ""
	if f.KeepsList {
		apiVersion = apiVersionOf(in)
	}
	if out, err = f.printList(rl, apiVersion); err != nil {
		return out, fmt.Errorf("print the ResourceList: %w", err)
	}
	return out, failure
}

// Apply evaluates f once over a list in memory, in place. The errors are those of Run; on each but a [PanicError] the results
// of the list count.
func (f Function) Apply(ctx context.Context, rl *fn.ResourceList) (err error) {
	defer catch(&err)
	if rl.FunctionConfig == nil {
		rl.FunctionConfig = fn.NewEmptyKubeObject()
	}
	ok, err := f.Process(ctx, rl)
	if err == nil && !ok {
		err = errFailed
	}
	return err
}
