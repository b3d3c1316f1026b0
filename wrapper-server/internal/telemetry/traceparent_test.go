// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"encoding/hex"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"
)

const (
	trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	span   = "00f067aa0ba902b7"
	parent = "00-" + trace + "-" + span + "-01"
)

func TestTraceparent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		parent:                                                trace + span + " sampled",
		"00-" + trace + "-" + span + "-00":                    trace + span,
		"00-" + trace + "-" + span + "-fe":                    trace + span,
		"cc-" + trace + "-" + span + "-01":                    trace + span + " sampled",
		"cc-" + trace + "-" + span + "-01-more":               trace + span + " sampled",
		"cc-" + trace + "-" + span + "-01more":                "",
		"ff-" + trace + "-" + span + "-01":                    "",
		parent + "-more":                                      "",
		parent[:54]:                                           "",
		strings.ToUpper(parent):                               "",
		strings.Replace(parent, "-", "_", 1):                  "",
		strings.Replace(parent, "4", "g", 1):                  "",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":  "",
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01": "",
		"": "",
	} {
		if got := described(parseTraceparent(text)); got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

func described(c spanContext) string {
	switch {
	case !c.valid():
		return ""
	case c.sampled:
		return hex.EncodeToString(c.trace[:]) + hex.EncodeToString(c.span[:]) + " sampled"
	default:
		return hex.EncodeToString(c.trace[:]) + hex.EncodeToString(c.span[:])
	}
}

func TestRemote(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		headers []string
		valid   bool
		state   string
	}{
		"nothing":              {},
		"a state alone":        {[]string{"tracestate", "a=1"}, false, ""},
		"two parents":          {[]string{"traceparent", parent, "traceparent", parent}, false, ""},
		"a parent":             {[]string{"traceparent", parent}, true, ""},
		"states":               {[]string{"traceparent", parent, "tracestate", "a=1", "tracestate", "b=2"}, true, "a=1,b=2"},
		"a state of no text":   {[]string{"traceparent", parent, "tracestate", "a=\xff"}, true, ""},
		"a state that is long": {[]string{"traceparent", parent, "tracestate", strings.Repeat("x", maxState+1)}, true, ""},
	} {
		got := remote(metadata.NewIncomingContext(t.Context(), metadata.Pairs(tc.headers...)))
		if got.valid() != tc.valid || got.state != tc.state {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// What is read is what was written.
func FuzzTraceparent(f *testing.F) {
	f.Add(parent)
	f.Add("cc-" + trace + "-" + span + "-00-more")
	f.Fuzz(func(t *testing.T, text string) {
		c := parseTraceparent(text)
		want := hex.EncodeToString(c.trace[:]) + "-" + hex.EncodeToString(c.span[:])
		if c.valid() && text[3:52] != want {
			t.Errorf("%q is read as %s", text, want)
		}
	})
}
