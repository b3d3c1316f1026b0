// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// Function is one curated KRM function.
//
// A Function is a value: it holds no state between calls, and its methods and Process may be called concurrently.
type Function struct {
	// Name is the function's name in the catalog and the base name of its image, such as "set-labels".
	Name string

	// Version is the tag of this implementation, in the catalog's form, such as "v0.4.5".
	Version string

	// Tags are all tags that mean this implementation: Version, and the shorter tags that follow it, such as "v0.4".
	Tags []string

	// Summary says in one line, without a full stop, what the function does.
	Summary string

	// Heavy says that what the function links takes long to initialise. A program that is started for every evaluation
	// is built with the tag "light", which leaves such functions out, so that the others start in half the time.
	Heavy bool

	// Config says which functionConfig forms the function takes, one per line. It is printed by --help.
	Config string

	// Process evaluates the function over a list, in place. It returns false when the function fails with the reason
	// among the results, or an error when the reason is not among them. The list is printed in either case.
	//
	// A Process that can run long looks at ctx and returns its error. The FunctionConfig of the list is never nil; it
	// is empty when none was given.
	Process func(ctx context.Context, rl *fn.ResourceList) (bool, error)

	// Unshared says that Process never puts one YAML node into two places: those who keep the list in memory need no copies
	// of its items to change one of them for itself.
	Unshared bool

	// processMemory is the most memory, in bytes, that a process of its own may have for the function; 0 for no limit.
	// It is for functions whose users can ask for any amount.
	processMemory uint64
}

// OwnsTag reports whether an image tag means this very implementation, as opposed to an older or newer version of the
// function of the same name.
func (f Function) OwnsTag(tag string) bool {
	return slices.Contains(f.Tags, tag)
}
