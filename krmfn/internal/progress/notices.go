// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"sync"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// Notices shows events of a running function, such as the pull of its image or a warning of the container engine. A terminal shows the latest
// event next to the function's clock; other outputs get a line for each. A nil *Notices shows nothing. Notices is safe for
// concurrent use.
type Notices struct {
	mu sync.Mutex
	// out shows lines at once; nil for a terminal, and before there is a display.
	out *terminal.Stream
	// doing and detail are what happens now; "" for nothing.
	doing, detail string
	// warnings are those that have not been shown.
	warnings []string
}

// Doing tells what happens now, and how far it is; "" that it is over.
func (n *Notices) Doing(what, detail string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.out != nil && what != "" && what != n.doing {
		fmt.Fprintf(n.out, "  %s\n", terminal.Safe(what))
	}
	n.doing, n.detail = what, detail
}

// Warn tells what does not change the outcome.
func (n *Notices) Warn(text string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.out == nil {
		n.warnings = append(n.warnings, text)
		return
	}
	fmt.Fprintf(n.out, "%s %s\n", n.out.Style.Yellow("[WARN]"), terminal.OneLine(text))
}

// show has notices be lines of a stream from now on.
func (n *Notices) show(out *terminal.Stream) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.out = out
}

// now returns what happens now, in one line.
func (n *Notices) now() string {
	if n == nil {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.doing == "" || n.detail == "" {
		return n.doing
	}
	return n.doing + ": " + n.detail
}

// take returns the warnings that have not been shown.
func (n *Notices) take() []string {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	warnings := n.warnings
	n.warnings = nil
	return warnings
}
