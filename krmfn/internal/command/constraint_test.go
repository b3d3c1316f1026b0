// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// tagRegistry serves the tags of fn/set-labels. It returns its address and the recorded requests.
func tagRegistry(t *testing.T, tags string) (server *httptest.Server, address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v2/fn/set-labels/tags/list", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name": "fn/set-labels", "tags": [%s]}`, tags)
	})
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, server.Listener.Addr().String()
}

func constrained(tag string) map[string]string {
	return map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n" +
		"    - image: set-labels\n      tag: '" + tag + "'\n      configMap:\n        app: web\n"}
}

func TestRenderConstraint(t *testing.T) {
	t.Parallel()
	server, address := tagRegistry(t, `"latest", "v0.1.5", "v0.2", "v0.2.77", "v0.3.0"`)
	render := func(t *testing.T, tag string) (outcome, string) {
		t.Helper()
		dir := newPackage(t, constrained(tag))
		got := krmfn(t, "render", "--default-image-prefix", address+"/fn", dir)
		return got, snapshot(t, dir)["Kptfile"]
	}
	got, after := render(t, "~0.2")
	got.ok(t)
	contains(t, after, "      tag: '~0.2'\n", "image: "+address+"/fn/set-labels:v0.2.77\n")
	contains(t, got.err, address+"/fn/set-labels:v0.2.77")
	got, _ = render(t, "~9.9")
	if got.code != failure.Failed {
		t.Errorf("exit code %d", got.code)
	}
	contains(t, got.err, `no tag could be found matching the version constraint "~9.9"`, "v0.3.0")

	server.Close()
	// The curated function's own version is known without a registry.
	got, after = render(t, ">=0.1")
	got.ok(t)
	contains(t, after, "      tag: '>=0.1'\n", "image: "+address+"/fn/set-labels:v0.")
	got, _ = render(t, "~9.9")
	if got.code != failure.Failed {
		t.Errorf("exit code %d", got.code)
	}
	contains(t, got.err, "`function.tag` \"~9.9\" of image \""+address+"/fn/set-labels\" is a version constraint, and the tags cannot be listed", "connection refused")
}

func TestEvalConstraint(t *testing.T) {
	t.Parallel()
	_, address := tagRegistry(t, `"v0.2.77", "v0.3.0"`)
	dir := newPackage(t, nil)
	got := krmfn(t, "eval", "--default-image-prefix", address+"/fn", "-i=set-labels", "--tag=<0.3", "--save", "--type=mutator", dir, "--", "app=eval").ok(t)
	contains(t, got.err, address+"/fn/set-labels:v0.2.77")
	kptfile := snapshot(t, dir)["Kptfile"]
	contains(t, kptfile, "tag: <0.3\n")
	if strings.Contains(kptfile, "v0.2.77") {
		t.Errorf("the resolved tag is saved:\n%s", kptfile)
	}
}
