// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import "strings"

// Kind is a way in which a function runner evaluates the function.
type Kind struct {
	Name string
	// Entry and Labels select the kind: Entry is a field of the function's entry in the config file of executables, and Labels are labels
	// of the image.
	Entry  string
	Labels map[string]string
}

// The kinds are the default, and the two that functions opt in to.
var (
	Standby = &Kind{"standby process", "standby: true", nil}
	Worker  = &Kind{"worker", "worker: true", map[string]string{"krmfn.dev/worker": "true"}}
	Cached  = &Kind{"cached result", "deterministic: true", map[string]string{"krmfn.dev/deterministic": "true"}}
	Kinds   = []*Kind{Standby, Worker, Cached}
)

// BareProcess is the name of the baseline of all kinds.
const BareProcess = "bare process"

// ID returns the name in a form that is valid in image references.
func (k *Kind) ID() string { return strings.ReplaceAll(k.Name, " ", "-") }

// CacheFlag enables the result cache of a function runner.
const CacheFlag = "--result-cache-size=67108864"
