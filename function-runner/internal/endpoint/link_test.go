// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"testing"

	"google.golang.org/grpc/connectivity"

	"github.com/krmfn/krmfn/internal/wrapperapi"
)

// An idle connection stays open if a health check or a call begins while the endpoint is about to close it.
func TestRestKeepsLinkInUse(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(w *watchdog) (l *link, end func(), err error){
		"question": func(w *watchdog) (*link, func(), error) {
			l, err := w.ask()
			return l, w.asked, err
		},
		"call": func(w *watchdog) (*link, func(), error) {
			f := &flight{}
			l, err := w.enter(f)
			return l, func() { w.leave(f) }, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := New(t.Context(), "pod", "passthrough:///pod", wrapperapi.Target{}, Options{})
			defer e.Close()
			l, end, err := use(&e.watchdog)
			if err != nil {
				t.Fatal(err)
			}
			if e.watchdog.closeIdle(l) || l.conn.GetState() == connectivity.Shutdown {
				t.Error("rest() closed a connection in use")
			}
			end()
			if !e.watchdog.closeIdle(l) || l.conn.GetState() != connectivity.Shutdown {
				t.Error("rest() did not close an unused connection")
			}
		})
	}
}
