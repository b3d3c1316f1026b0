// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	site := fstest.MapFS{
		"index.html": {Data: []byte(`<link rel="stylesheet" href="site.css"><script src="https://cdn.example.org/x.js"></script>
<a href="page.html#a-b">fine</a> <a href="page.html">fine</a> <a href="#here" id="here">fine</a> <a href="https://example.org/gone">elsewhere</a>
<a href="gone.html">gone</a> <a href="page.html#gone">no anchor</a> <a href="#gone">no anchor</a> <img src="gone.svg" alt="">
<code>&lt;a href=&#34;no-link.html&#34;&gt;</code>`)},
		"page.html": {Data: []byte(`<h2 id="a-b">A B</h2><a class="x" href="./index.html#here">back</a>`)},
		"site.css":  {},
	}
	got, err := check(site)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"index.html: #gone: the page has no such anchor",
		"index.html: gone.html: the file does not exist",
		"index.html: gone.svg: the file does not exist",
		"index.html: https://cdn.example.org/x.js: the page loads a file from another host",
		"index.html: page.html#gone: the page has no such anchor",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("check() (-want +got):\n%s", diff)
	}
	if _, err := check(fstest.MapFS{}); err == nil {
		t.Error("check() of a site without pages succeeded, want an error")
	}
}
