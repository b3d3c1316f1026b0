// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package kubeconform

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func TestPermits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		permitted, location string
		want                bool
	}{
		{"https://a.example/s", "https://a.example/s/x.json", true},
		{"https://a.example/s/", "https://a.example/s/x.json", true},
		{"https://a.example", "https://a.example/x.json", true},
		{"https://", "https://b.example/x.json", true},
		{"http://,https://", "http://b.example/x.json", true},
		{"", "https://a.example/x.json", false},
		{"https://", "http://a.example/x.json", false},
		{"https://a.example/s", "http://a.example/s/x.json", false},
		{"https://a.example/s", "https://a.example/secret.json", false},
		{"https://a.example/s", "https://a.example/s/../x.json", false},
		{"https://a.example/s", "https://a.example/s/%2e%2e/x.json", false},
		{"https://a.example/s", "https://a.example.evil/s/x.json", false},
		{"https://a.example/s", "https://a.example:8443/s/x.json", false},
		{"https://a.example/s", "https://a.example@evil/s/x.json", false},
		{"https://a.example/s", "https://evil@a.example/s/x.json", false},
		{"/etc", "https://a.example/x.json", false},
	} {
		p, err := permittedBy([]string{LocationsVariable + "=" + test.permitted})
		if err != nil {
			t.Fatal(err)
		}
		location, err := url.Parse(test.location)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.permits(location); got != test.want {
			t.Errorf("%q permits %s = %t, want %t", test.permitted, test.location, got, test.want)
		}
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	for _, directory := range []string{"/a", "/a,/b", "/a%2C b"} {
		p, err := permittedBy([]string{LocationsVariable + "=" + Directory(directory) + ",https://a.example"})
		if err != nil || !slices.Equal(p.directories, []string{directory}) {
			t.Errorf("permittedBy() = %q, %v, want %s", p.directories, err, directory)
		}
	}
}

// The author of a package cannot reach a server or file that the operator has not permitted: not by configuration, kind, schema
// or redirect.
func TestLocationsNeedPermission(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"type": "string"}`))
	}))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/frog.json", http.StatusFound)
	}))
	t.Cleanup(server.Close)
	dir, outside := t.TempDir(), t.TempDir()
	for path, content := range map[string]string{
		filepath.Join(outside, "secret.json"): `{"type": "string"}`,
		filepath.Join(dir, "web.json"):        `{"$ref": "` + other.URL + `/frog.json"}`,
		filepath.Join(dir, "file.json"):       `{"$ref": "file://` + outside + `/secret.json"}`,
		filepath.Join(dir, "relative.json"):   `{"$ref": "../` + filepath.Base(outside) + `/secret.json"}`,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "secret.json"), filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	const frog = "{apiVersion: example.com/v1, kind: Frog, metadata: {name: f}}"
	const refused = "is not a permitted schema location: list its "
	for name, test := range map[string]struct {
		permitted []string
		items     string
		data      string
		want      string
	}{
		"a URL, and nothing is permitted":        {nil, frog, "{schema_location: '" + other.URL + "/x.json'}", "functionConfig: data.schema_location: " + other.URL + "/x.json " + refused + "URL in KUBECONFORM_SCHEMA_LOCATIONS, or allow krmfn the network"},
		"a further URL":                          {nil, frog, "{additional_schema_locations: '" + other.URL + "/x.json'}", "functionConfig: data.additional_schema_locations: " + other.URL + "/x.json " + refused},
		"a file, and nothing is permitted":       {nil, frog, "{schema_location: '" + outside + "/secret.json'}", "functionConfig: data.schema_location: " + outside + "/secret.json " + refused + "directory in KUBECONFORM_SCHEMA_LOCATIONS"},
		"a relative file":                        {nil, frog, "{schema_location: 'secret.json'}", "functionConfig: data.schema_location: secret.json " + refused},
		"a file URL":                             {nil, frog, "{schema_location: 'file://" + outside + "/secret.json'}", refused},
		"another server":                         {[]string{server.URL, dir}, frog, "{schema_location: '" + other.URL + "/x.json'}", refused},
		"another directory":                      {[]string{dir}, frog, "{schema_location: '" + outside + "/secret.json'}", refused},
		"out of a directory":                     {[]string{dir}, frog, "{schema_location: '../" + filepath.Base(outside) + "/secret.json'}", refused},
		"out of a directory by a kind":           {[]string{dir}, strings.Replace(frog, "Frog", "../"+filepath.Base(outside)+"/secret", 1), "{schema_location: '" + dir + "/{{.ResourceKind}}.json'}", refused},
		"out of a directory by a link":           {[]string{dir}, frog, "{schema_location: '" + dir + "/link.json'}", "path escapes from parent"},
		"another server by a kind":               {[]string{server.URL}, strings.Replace(frog, "Frog", "../x", 1), "{schema_location: '" + server.URL + "/s/{{.ResourceKind}}.json'}", refused},
		"another server by a redirect":           {[]string{server.URL}, frog, "{schema_location: '" + server.URL + "/x.json'}", refused},
		"another server by a schema":             {[]string{dir, server.URL}, frog, "{schema_location: '" + dir + "/web.json'}", refused},
		"another directory by a schema":          {[]string{dir}, frog, "{schema_location: '" + dir + "/file.json'}", refused},
		"another directory by a relative schema": {[]string{dir}, frog, "{schema_location: '" + dir + "/relative.json'}", refused},
		"a template that loops":                  {[]string{dir}, frog, "{schema_location: '" + dir + "/{{range 1000000000}}x{{end}}.json'}", "only fields such as {{.ResourceKind}} are supported"},
		"a template that formats":                {[]string{dir}, frog, "{schema_location: '" + dir + `/{{printf "%1000000d" 1}}.json'}`, "only fields such as {{.ResourceKind}} are supported"},
		"an unknown field":                       {[]string{dir}, frog, "{schema_location: '" + dir + "/{{.Kind}}.json'}", `unknown field "Kind"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rl := kubeconformList(t, test.items, test.data)
			ok, err := kubeconform(permitting(t.Context(), test.permitted...), rl)
			if err != nil {
				t.Fatal(err)
			}
			lines := resultLines(t, rl.Results)
			if ok || len(lines) != 1 || !strings.Contains(lines[0], test.want) || slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "\n") }) {
				t.Errorf("kubeconform() = %t with %q, want one line with %q", ok, lines, test.want)
			}
			if got := asked.Load(); got > 0 {
				t.Errorf("the other server got %d requests, want none", got)
			}
		})
	}
}
