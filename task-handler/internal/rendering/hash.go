// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/krmfn/krmfn/services/render/packages"
)

// hash returns what go.sum files have for a tree of files. The error says that a path has a line break.
func hash(source *packages.Memory) (string, error) {
	files := source.Files()
	return dirhash.Hash1(slices.Collect(maps.Keys(files)), func(path string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(files[path])), nil
	})
}
