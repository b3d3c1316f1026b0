// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import "github.com/krmfn/krmfn/services/images/reference"

// Reference returns what is pulled for an image that calls name: with the prefix before a short name, and below a mirror where
// the rewrites say so.
func (o *Options) Reference(name string) (string, error) {
	ref, err := reference.Resolve(name, o.DefaultImagePrefix)
	if err != nil {
		return "", err
	}
	return o.Images.Rewrites.Apply(ref), nil
}
