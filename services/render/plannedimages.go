// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"iter"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
)

// PlannedImage is an image that functions of a plan use.
type PlannedImage struct {
	// Image is the reference that a render would evaluate. If Err is set, it is the image as written in the Kptfile.
	Image string
	// Err is the reason why the reference cannot be resolved; nil if it is resolved.
	Err error
	// UsedBy lists the functions that use the image, in run order. It is never empty.
	UsedBy []PlannedFunction
}

// PlannedFunction is a function and its package's directory; "." for the root.
type PlannedFunction struct {
	Package  string
	Function kptfilev1.Function
}

// PlannedImages returns the images of plans without duplicates, in the order of their first use. It uses the options
// ImagePrefix and Tags, and resolves references like Package.
func PlannedImages(ctx context.Context, plans []PackagePlan, options Options) []PlannedImage {
	names := resolveImages(ctx, planFunctions(plans), options)
	var all []PlannedImage
	for _, p := range plans {
		for _, f := range slices.Concat(p.Mutators, p.Validators) {
			if f.Image == "" {
				continue
			}
			image := PlannedImage{UsedBy: []PlannedFunction{{p.Package, f}}}
			if image.Image, image.Err = names.of(&f); image.Err != nil {
				image.Image = f.Image
			}
			known := slices.IndexFunc(all, func(other PlannedImage) bool {
				return other.Image == image.Image && (image.Err == nil) == (other.Err == nil) &&
					(image.Err == nil || image.Err.Error() == other.Err.Error())
			})
			if known < 0 {
				all = append(all, image)
			} else {
				all[known].UsedBy = append(all[known].UsedBy, image.UsedBy...)
			}
		}
	}
	return all
}

func planFunctions(plans []PackagePlan) iter.Seq[*kptfilev1.Function] {
	return func(yield func(*kptfilev1.Function) bool) {
		for _, p := range plans {
			for _, functions := range [][]kptfilev1.Function{p.Mutators, p.Validators} {
				for i := range functions {
					if f := &functions[i]; f.Image != "" && !yield(f) {
						return
					}
				}
			}
		}
	}
}
