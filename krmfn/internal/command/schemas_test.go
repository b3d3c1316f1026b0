// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// A package names the schemas of its own directory without further ado, and reaches servers only if the user says so.
func TestSchemaLocations(t *testing.T) {
	t.Parallel()
	const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: shop}\npipeline:\n  validators:\n    - image: kubeconform\n      configMap: {schema_location: '"
	const frog = "apiVersion: example.com/v1\nkind: Frog\nmetadata: {name: f}\n"
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"required": ["spec"]}`))
	}))
	t.Cleanup(server.Close)
	local := map[string]string{".krmignore": "schemas\n", "Kptfile": kptfile + "schemas/{{.ResourceKind}}.json'}\n", "frog.yaml": frog, "schemas/frog.json": `{"required": ["spec"]}`}
	remote := map[string]string{"Kptfile": kptfile + server.URL + "/{{.ResourceKind}}.json'}\n", "frog.yaml": frog}
	refused := server.URL + "/pod.json is not a permitted schema location: list its URL in KUBECONFORM_SCHEMA_LOCATIONS, or allow krmfn the network"
	for _, tc := range []struct { //nolint:paralleltest // they share a server
		name    string
		files   map[string]string
		args    []string
		environ []string
		want    string
		asked   int32
	}{
		{name: "a file of the package", files: local, want: "missing property 'spec'"},
		{name: "a file of the package, isolated", files: local, args: []string{"--isolate"}, want: "missing property 'spec'"},
		{name: "another directory", files: local, environ: []string{"KUBECONFORM_SCHEMA_LOCATIONS=" + t.TempDir()}, want: "could not find schema"},
		{name: "a server", files: remote, want: refused},
		{name: "a server, isolated", files: remote, args: []string{"--isolate"}, want: refused},
		{name: "a server that the user allows", files: remote, args: []string{"--allow-network"}, want: "missing property 'spec'", asked: 3},
		{name: "a server that the user lists", files: remote, environ: []string{"KUBECONFORM_SCHEMA_LOCATIONS=" + server.URL}, want: "missing property 'spec'", asked: 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked.Store(0)
			got := invocation{args: append([]string{"render", "--dry-run", newPackage(t, tc.files)}, tc.args...), environ: tc.environ}.run(t.Context(), t)
			contains(t, got.err, tc.want)
			if asked.Load() != tc.asked {
				t.Errorf("the server was asked %d times, want %d", asked.Load(), tc.asked)
			}
		})
	}
}
