// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import "github.com/krmfn/krmfn/services/image"

// Reference returns what is pulled for an image that calls name: with the prefix before a short name, and below a mirror where
// the rewrites say so.
func (o *Options) Reference(name string) (string, error) {
	reference, err := image.Resolve(name, o.DefaultImagePrefix)
	if err != nil {
		return "", err
	}
	return o.Images.Rewrites.Apply(reference), nil
}
