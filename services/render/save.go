// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
)

// save makes files of the resources where the render succeeded, or where a failure is to be saved. It returns the error
// that the render ends with.
func (r *Result) save(root *node, out outcome, options Options) error {
	if out.err == nil || root.annotated(kptfilev1.SaveOnRenderFailureAnnotation) {
		if err := r.output(root, out, options); err != nil {
			return err
		}
	}
	if options.WriteStatus {
		r.writeStatus(root, out)
	}
	return out.err
}

func (r *Result) output(root *node, out outcome, options Options) (err error) {
	if out.err == nil && !options.NoAttribution {
		attribute(out.resources)
	}
	r.Output, err = r.Tree.Output(out.resources, out.read...)
	if err == nil {
		return nil
	}
	return &Error{Op: opPackage, Package: root.location, Err: &SaveError{Err: err, Render: out.err}}
}
