// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"

	"github.com/krmfn/krmfn/services/cluster/podcacheconfig"
	"github.com/krmfn/krmfn/services/server/configfile"
)

// maxFile is the most bytes of a file that names images.
const maxFile = 4 << 20

// podCacheConfig takes the functions with settings of their own.
func (f *finder) podCacheConfig(file string) {
	text, err := readFile(file)
	if err != nil {
		f.unread(file, fmt.Errorf("read --pod-cache-config: %w", err))
		return
	}
	names, nameless, err := podcacheconfig.Images(text)
	if err != nil {
		f.unread(file, fmt.Errorf("--pod-cache-config is not understood: %w", err))
		return
	}
	if nameless > 0 {
		f.note("%s: %d entries have no name, which must be the image of a function", file, nameless)
	}
	for _, name := range names {
		f.add(name)
	}
}

// readFile reads a file that is not larger than maxFile.
func readFile(name string) ([]byte, error) {
	text, err := configfile.Read(name, maxFile)
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes: is this the right file?", name, maxFile)
	}
	return text, err
}
