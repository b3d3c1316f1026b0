// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"strings"
	"sync"
)

// messages keeps what an engine's client writes to standard error. It is safe for concurrent use.
type messages struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

// Write never fails.
func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return (&tail{&m.kept}).Write(p)
}

// take returns the lines since the previous call.
func (m *messages) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []string
	for line := range strings.Lines(m.kept.String()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	m.kept.Reset()
	return lines
}
