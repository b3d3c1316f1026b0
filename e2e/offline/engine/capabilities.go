// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/sys/capability"
)

// Lacking returns the capabilities that no process on this machine can have, by the names that OCI runtimes use.
func Lacking() ([]string, error) {
	last, err := capability.LastCap()
	if err != nil {
		return nil, fmt.Errorf("capabilities of the kernel: %w", err)
	}
	var names []string
	for c := capability.Cap(0); c <= last; c++ {
		bound, err := capability.GetBound(c)
		if err != nil {
			return nil, fmt.Errorf("capability %s: %w", c, err)
		}
		if !bound {
			names = append(names, "CAP_"+strings.ToUpper(c.String()))
		}
	}
	return names, nil
}

// DropFromSpec removes capabilities from a container's config.json.
func DropFromSpec(config []byte, names []string) ([]byte, error) {
	var spec map[string]json.RawMessage
	if err := json.Unmarshal(config, &spec); err != nil {
		return nil, fmt.Errorf("container's configuration: %w", err)
	}
	process, ok := spec["process"]
	if !ok {
		return nil, errors.New("container's configuration has no process")
	}
	process, err := DropFromProcess(process, names)
	if err != nil {
		return nil, err
	}
	spec["process"] = process
	return json.Marshal(spec)
}

// DropFromProcess removes capabilities from a process description in the format of runc exec.
func DropFromProcess(description []byte, names []string) ([]byte, error) {
	var process map[string]json.RawMessage
	if err := json.Unmarshal(description, &process); err != nil {
		return nil, fmt.Errorf("process of a container: %w", err)
	}
	asked, ok := process["capabilities"]
	if !ok {
		return description, nil
	}
	var sets map[string][]string
	if err := json.Unmarshal(asked, &sets); err != nil {
		return nil, fmt.Errorf("capabilities of a container: %w", err)
	}
	for set, all := range sets {
		sets[set] = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(names, name) })
	}
	var err error
	if process["capabilities"], err = json.Marshal(sets); err != nil {
		return nil, err
	}
	return json.Marshal(process)
}
