// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
)

// Mount makes files of this machine, or a volume, available to a function.
type Mount struct {
	// Type is bind, volume or tmpfs.
	Type string
	// Source is a path, or the name of a volume. It is empty for a tmpfs.
	Source string
	// Target is the path in the container.
	Target string
	// Writable allows the function to write there.
	Writable bool
}

// ParseMount parses a mount in the form of kpt's --mount: comma-separated key=value pairs with the keys of docker run --mount. The
// default type is bind. Mounts are read-only without rw=true.
func ParseMount(text string) (Mount, error) {
	m := Mount{Type: "bind"}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "type":
			m.Type = value
		case "source", "src":
			m.Source = value
		case "target", "destination", "dst":
			m.Target = value
		case "readonly", "ro":
			m.Writable = value == "false"
		case "rw", "readwrite":
			m.Writable = value == "true" || value == ""
		default:
			return Mount{}, fmt.Errorf("--mount %q has the key %q, want type, src, dst and rw, as in type=bind,src=/schemas,dst=/schemas", text, key)
		}
	}
	switch {
	case m.Type != "bind" && m.Type != "volume" && m.Type != "tmpfs":
		return Mount{}, fmt.Errorf("--mount %q has the type %q, want bind, volume or tmpfs", text, m.Type)
	case !strings.HasPrefix(m.Target, "/"):
		return Mount{}, fmt.Errorf("--mount %q needs dst=PATH, an absolute path in the container", text)
	case m.Source == "" && m.Type == "bind":
		return Mount{}, fmt.Errorf("--mount %q needs src=PATH, a path on this machine", text)
	}
	return m, nil
}

// String returns the mount in the form of docker run --mount.
func (m Mount) String() string {
	text := "type=" + m.Type
	if m.Source != "" {
		text += ",source=" + m.Source
	}
	text += ",target=" + m.Target
	if !m.Writable && m.Type != "tmpfs" {
		text += ",readonly"
	}
	return text
}
