// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked

// Image is an image whose files are in a directory.
type Image struct {
	// ID is the digest of the image's config, "sha256:…", which identifies all of its content.
	ID string
	// Root is the absolute path of the directory with the image's files. Callers must not modify them.
	Root string
	// Command is the image's entrypoint followed by its cmd. It has at least one element.
	Command []string
	// Env is the image's environment as "KEY=value" strings.
	Env []string
	// User is "user[:group]" as names or numbers. Empty means root.
	User string
	// Dir is the working directory. Empty means the root directory.
	Dir string
}
