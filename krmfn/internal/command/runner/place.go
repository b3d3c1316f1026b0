// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// Place is where a function would be evaluated.
type Place struct {
	// Runtime is a value of --runtime; "" where none would evaluate the function, or where it takes a registry to tell.
	Runtime string
	// Implementation is what the runtime would run, as far as that is known: name and version of a curated function, the address
	// of the function runner.
	Implementation string
	// Warning is that the implementation has another version than the image's tag names; "" for none.
	Warning string
	// Err is why nothing would evaluate the function.
	Err error
}

// Place tells where an image would be evaluated. It connects to nothing: that the runtime can evaluate the image is not known.
func (f *Flags) Place(p *program.Program, image string) Place {
	var missing error
	for _, name := range f.runtimes(p) {
		switch name {
		case remoteRuntime:
			return Place{Runtime: name, Implementation: f.Address}
		case builtinRuntime:
			b := runtime.Builtin{Functions: functions.All(), Prefix: f.ImagePrefix, StrictVersions: f.strictVersions}
			curated, err := b.Lookup(image)
			if err == nil {
				return Place{Runtime: name, Implementation: curated.Implementation(), Warning: reference.Substitution(image, curated.Version)}
			}
			missing = cmp.Or(explainTag(err, f.strictVersions), missing)
		default:
			return Place{Runtime: name}
		}
	}
	return Place{Err: missing}
}

// PlaceAnyVersion is Place for an image whose tag is not known before its registry has been asked.
func (f *Flags) PlaceAnyVersion(p *program.Program, repository string) Place {
	anyTag := *f
	anyTag.strictVersions = false
	place := anyTag.Place(p, repository)
	if f.strictVersions && place.Runtime == builtinRuntime {
		// Whether the tag is one of the curated function's decides.
		return Place{}
	}
	place.Warning = ""
	return place
}
