// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"time"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/services/images/registry"
	"github.com/krmfn/krmfn/services/images/tags"
	"github.com/krmfn/krmfn/services/render"
)

// maxListTime is how long a registry may take to list the tags of an image.
const maxListTime = 10 * time.Second

// tags returns what lists the tags of images, with the credentials of Docker's or Podman's configuration, until done is
// called. Where the curated functions are what is evaluated, they stand in for a registry that cannot be asked.
func (f *runnerFlags) tags() (_ render.TagLister, done func()) {
	client := registry.NewClient(registry.Options{Timeout: maxListTime})
	if f.address != "" {
		return client, client.Close
	}
	return tags.WithBuiltin(client, functions.All().Tags, f.imagePrefix), client.Close
}
