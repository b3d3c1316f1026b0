// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"errors"
	"fmt"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// errFailed is the error of a function that failed and put the reason into its results. The text is the SDK's.
var errFailed = errors.New("error: function failure")

// PanicError reports that a function panicked. Later calls are not affected.
type PanicError struct{ Value any }

// panicPrefix is the SDK's text.
const panicPrefix = "KRM function panicked with: "

func (e *PanicError) Error() string { return panicPrefix + fmt.Sprint(e.Value) }

func catch(err *error) {
	if value := recover(); value != nil {
		*err = &PanicError{value}
	}
}

// Run evaluates f once on a ResourceList in YAML and returns the resulting list.
//
// It returns the output even if f fails, with the results that explain the failure. There is no output if the input is not a
// ResourceList, if the function panics (a *[PanicError]), or if the context ends.
//
// Parsing and printing are the same as in the SDK's fn.Run: items are sorted by apiVersion, kind, namespace and name, unless the
// function sets KeepsList.
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

// Apply evaluates f once on a list in memory, in place. It returns the same errors as Run. The list's results are valid unless the
// error is a *[PanicError].
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
