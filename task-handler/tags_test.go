// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/krmfn/krmfn/task-handler/options"
)

// Version constraints are resolved with the registry's tags, which are listed once. If the registry is unreachable, the built-in function runs.
func TestConstraint(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v2/fn/set-namespace/tags/list", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `{"name": "fn/set-namespace", "tags": ["v0.4.1", "v0.4.99", "v1.0.0"]}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	prefix := server.Listener.Addr().String() + "/fn"
	render := func(constraint string, set func(*options.Options)) string {
		t.Helper()
		handler := client(t, func(o *options.Options) {
			o.DefaultImagePrefix = prefix
			if set != nil {
				set(o)
			}
		})
		image := ""
		for range 2 {
			resp, err := handler.Render(t.Context(), request(
				"Kptfile", strings.Replace(shop, "image: set-namespace\n", "image: set-namespace\n      tag: "+constraint+"\n", 1), "a.yaml", cm))
			if err != nil {
				t.Fatal(err)
			}
			status := resp.GetResult().GetStatus()
			if status.GetError() != "" {
				return status.GetError()
			}
			image = resp.GetResult().GetFunctions()[0].GetFunction()
		}
		return image
	}
	if got := render("~0.4", nil); got != prefix+"/set-namespace:v0.4.99" || asked.Load() != 1 {
		t.Errorf("image = %s after %d requests", got, asked.Load())
	}
	if got := render("~7", nil); !strings.Contains(got, `no tag could be found matching the version constraint "~7"`) {
		t.Error(got)
	}
	server.Close()
	if got := render("~0.4", nil); got != prefix+"/set-namespace:v0.4.5" {
		t.Error(got)
	}
	_, runner, _ := startRunner(t)
	alone := func(o *options.Options) { o.Builtin, o.FunctionRunner = false, runner }
	if got := render("~0.4", alone); !strings.Contains(got, "the tags cannot be listed") {
		t.Error(got)
	}
}
