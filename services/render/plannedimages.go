// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"iter"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
)

// PlannedImage is an image that functions of a plan name.
type PlannedImage struct {
	// Image is the reference that a render would evaluate. With Err it is as the Kptfile has it.
	Image string
	// Err is why there is no reference; nil where there is one.
	Err error
	// UsedBy are the functions that name the image, in the order in which they would run. There is at least one.
	UsedBy []PlannedFunction
}

// PlannedFunction is a function and the directory of its package; "." for the root.
type PlannedFunction struct {
	Package  string
	Function kptfilev1.Function
}

// PlannedImages returns the images of plans, each once, in the order in which they would first run. The options are ImagePrefix
// and Tags of Package, which resolves references alike.
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
