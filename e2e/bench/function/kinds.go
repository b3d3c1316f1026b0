// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import "strings"

// Kind is a way to run the function behind a function runner.
type Kind struct {
	Name string
	// Entry and Labels have it run that way: a field of its entry in the config file of executables, and labels of its image.
	Entry  string
	Labels map[string]string
}

// The kinds: as functions have always run, as they run by default, and as those do that agree to more.
var (
	Fresh   = &Kind{"fresh process", "standby: false", map[string]string{"krmfn.dev/standby": "false"}}
	Standby = &Kind{"standby process", "standby: true", nil}
	Worker  = &Kind{"worker", "worker: true", map[string]string{"krmfn.dev/worker": "true"}}
	Memo    = &Kind{"kept answer", "deterministic: true", map[string]string{"krmfn.dev/deterministic": "true"}}
	Kinds   = []*Kind{Fresh, Standby, Worker, Memo}
)

// BareProcess names what all kinds are measured by.
const BareProcess = "bare process"

// ID is the name as a part of references.
func (k *Kind) ID() string { return strings.ReplaceAll(k.Name, " ", "-") }

// CacheFlag has a function runner keep answers.
const CacheFlag = "--result-cache-size=67108864"
