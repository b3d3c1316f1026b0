// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked

// Image is an image whose files are in a directory.
type Image struct {
	// ID is the digest of the image's config, "sha256:…", which names all of its content.
	ID string
	// Root is the absolute path of the directory with the image's files. They must not be changed.
	Root string
	// Command is the image's entrypoint and then its cmd; at least one element.
	Command []string
	// Env is its environment, "KEY=value" each.
	Env []string
	// User is "user[:group]" by names or numbers; empty means root.
	User string
	// Dir is its working directory; empty means the root.
	Dir string
}
