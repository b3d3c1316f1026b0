// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/krmfn/internal/engine"
)

func TestParseMount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"type=bind,src=/a,dst=/b":                "type=bind,source=/a,target=/b,readonly",
		"src=/a,target=/b,rw=true":               "type=bind,source=/a,target=/b",
		"source=/a,destination=/b,rw=false":      "type=bind,source=/a,target=/b,readonly",
		"type=bind,source=/a,target=/b,readonly": "type=bind,source=/a,target=/b,readonly",
		"type=volume,source=data,dst=/b":         "type=volume,source=data,target=/b,readonly",
		"type=tmpfs,dst=/b":                      "type=tmpfs,target=/b",
		"type=tmpfs,src=,dst=/b,rw=true":         "type=tmpfs,target=/b",
		"type=npipe,src=/a,dst=/b":               `has the type "npipe", want bind, volume or tmpfs`,
		"src=/a":                                 "needs dst=PATH",
		"src=/a,dst=b":                           "needs dst=PATH",
		"dst=/b":                                 "needs src=PATH",
		"/a:/b":                                  `has the key "/a:/b"`,
		"":                                       `has the key ""`,
		"type=bind,src=/a,dst=/b,bind-propagation=x": `has the key "bind-propagation"`,
	} {
		got, err := engine.ParseMount(text)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && got.String() != want {
			t.Errorf("ParseMount(%q) = %v, error %v; want %s", text, got, err, want)
		}
	}
}

func FuzzParseMount(f *testing.F) {
	for _, seed := range []string{"type=bind,src=/a,dst=/b", "type=volume,src=x,dst=/b,rw=true", "type=tmpfs,dst=/x", ",=,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := engine.ParseMount(text)
		if err != nil {
			return
		}
		again, err := engine.ParseMount(m.String())
		if m.Type == "tmpfs" || !m.Writable {
			again.Writable = m.Writable
		}
		if m.Writable && m.Type != "tmpfs" {
			again.Writable = true // docker's syntax has no key for writable mounts
		}
		if err != nil || again != m {
			t.Errorf("ParseMount(%q) = %+v, which String() turns into %+v, error %v", text, m, again, err)
		}
	})
}
