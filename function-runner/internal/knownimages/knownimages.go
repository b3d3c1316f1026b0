// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package knownimages lets function runners know images without asking registries: from the file that the image warmer has
// made, and from what this function runner has learnt before it was started again.
package knownimages

import (
	"errors"
	"io/fs"
	"log/slog"

	"github.com/krmfn/krmfn/services/images/metadata"
	"github.com/krmfn/krmfn/services/images/registry"
	"github.com/krmfn/krmfn/services/server/configfile"
)

// Cache has the images; see registry.Cache.
type Cache interface {
	Load(images []registry.Image)
	Images() []registry.Image
}

// file has the format of package imagemetadata, and may be there or not. Functions that it would name can still be asked for, so
// that problem with it is logged and no more.
type file struct {
	name string
	log  *slog.Logger
	// problem is what was logged last.
	problem string
}

// read returns the file's images, and its content; nil where there is no such file, or it is not understood.
func (f *file) read() ([]registry.Image, []byte) {
	content, err := configfile.Read(f.name, metadata.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var images []registry.Image
	if err == nil {
		images, err = metadata.Parse(content)
	}
	if err != nil {
		f.failed("the file of known images cannot be used", err)
		return nil, nil
	}
	f.problem = ""
	return images, content
}

// failed logs an error, once until there is another one.
func (f *file) failed(what string, err error) {
	if f.problem != err.Error() {
		f.problem = err.Error()
		f.log.Warn(what, "file", f.name, "err", err)
	}
}
