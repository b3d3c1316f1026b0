// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
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
	names, nameless, err := parseSettings(text)
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

// parseSettings returns the names of the functions, and the number of entries without one. The file is a list of mappings
// with a name, or as older installations have it, a mapping by names. What else is in it is the function runner's matter.
func parseSettings(text []byte) (names []string, nameless int, err error) {
	content, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, 0, err
	}
	var older map[string]any
	if json.Unmarshal(content, &older) == nil {
		if _, ok := older[""]; ok {
			delete(older, "")
			nameless++
		}
		return slices.Sorted(maps.Keys(older)), nameless, nil
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(content, &entries); err != nil {
		return nil, 0, fmt.Errorf("want a list of functions: %w", err)
	}
	for _, e := range entries {
		var entry struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(e, &entry) != nil || entry.Name == "" {
			nameless++
			continue
		}
		names = append(names, entry.Name)
	}
	return names, nameless, nil
}

// readFile reads a file that is not larger than maxFile.
func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes: is this the right file?", name, maxFile)
	}
	return text, err
}
