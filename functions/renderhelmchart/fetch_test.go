// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package renderhelmchart

import (
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// silent discards the logs of test servers, which report failed TLS handshakes.
var silent = slog.NewLogLogger(slog.DiscardHandler, 0)

// TestMain makes the process trust the certificate of test servers, like that of a private authority.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "authority")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
		server := httptest.NewTLSServer(nil)
		defer server.Close()
		file := filepath.Join(dir, "ca.pem")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if err := os.Setenv("SSL_CERT_FILE", file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

const (
	user, password = "robot", "hunter2"
	// basic is the Secret of the user. The other Secrets are in the namespace default.
	basic  = "- {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team}, data: {username: cm9ib3Q=, password: aHVudGVyMg==}}\n"
	text   = "- {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {username: robot, password: hunter2}}\n"
	wrong  = "- {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {username: robot, password: hunter3}}\n"
	lesser = "- {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {username: robot}}\n"
	broken = "- {apiVersion: v1, kind: Secret, metadata: {name: s}, data: {username: 'hunter2!'}}\n"
)

// private requires the user's credentials. Its error responses contain the rejected credentials.
func private(served http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, given, _ := r.BasicAuth(); name != user || given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"errors": [{"code": "UNAUTHORIZED", "message": "not %s %s"}]}`, name, given)
			return
		}
		served.ServeHTTP(w, r)
	})
}

// telling returns a chart with a ConfigMap that contains the chart's version.
func telling(version string) map[string]string {
	files := web(version)
	files["templates/version.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\ndata: {chart: {{ .Chart.Version }}}\n"
	return files
}

// repository serves charts at /charts and values at /values.yaml.
func repository(t *testing.T) *http.ServeMux {
	packed := archive(t, telling("1.2.0"))
	mux := http.NewServeMux()
	mux.HandleFunc("/charts/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "entries:\n  web:\n  - {version: 1.1.0, urls: ['old.tgz?token=hunter2']}\n  - {version: 1.2.0, urls: [web.tgz]}\n"+
			"  - {version: 1.3.0-beta, urls: [beta.tgz]}\n  - {version: x, urls: [x]}\n")
	})
	mux.HandleFunc("/charts/web.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed) })
	mux.HandleFunc("/values.yaml", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "port: 8") })
	return mux
}

// serve starts a server and returns its URL.
func serve(t *testing.T, start func(http.Handler) *httptest.Server, handler http.Handler) string {
	t.Helper()
	server := start(handler)
	server.Config.ErrorLog = silent
	t.Cleanup(server.Close)
	return server.URL
}

func TestDownload(t *testing.T) {
	t.Parallel()
	server := serve(t, httptest.NewServer, repository(t))
	config := typed + "helmCharts: [{chartArgs: {name: web, version: VERSION, repo: '" + server + "/charts'}, templateOptions: {skipTests: true, values: {valuesFiles: ['" +
		server + "/values.yaml']}}}]"
	for version, want := range map[string]string{
		"1.2.0": "", "''": "", "'~1.2'": "",
		"1.1.0": "chart web: get " + server + "/charts/old.tgz: 404 Not Found",
		"4.0.0": "chart web: repository " + server + "/charts: it has no web of version 4.0.0",
		"1.x.y": `chart web: version "1.x.y": `,
	} {
		got, err := evaluate(t, "", strings.ReplaceAll(config, "VERSION", version), downloadVariable+"=true")
		if failed := err != nil; failed != (want != "") || !strings.Contains(got, want) {
			t.Errorf("version %s: error = %v, want %q; output:\n%s", version, err, want, got)
		}
		if want == "" && !strings.Contains(got, "port: 8") {
			t.Errorf("version %s: output:\n%s", version, got)
		}
	}
}

// push pushes charts and an image to a registry.
func push(t *testing.T, server string) {
	t.Helper()
	for tag, layer := range map[string]types.MediaType{
		"1.0.0": chartLayers[0], "1.2.0_b1": chartLayers[0], "1.3.0-rc.1": chartLayers[0], "0.9.0": chartLayers[1], "image": types.OCILayer, "0.1.0": types.OCILayer,
	} {
		version := strings.ReplaceAll(tag, "_", "+")
		artifact, err := mutate.Append(mutate.ConfigMediaType(empty.Image, "application/vnd.cncf.helm.config.v1+json"),
			mutate.Addendum{Layer: static.NewLayer(archive(t, telling(version)), layer)})
		if err != nil {
			t.Fatal(err)
		}
		ref, err := name.NewTag(strings.TrimPrefix(server, "http://") + "/charts/web:" + tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(ref, artifact); err != nil {
			t.Fatal(err)
		}
	}
}

// Charts can be fetched from registries and repositories, with a private certificate authority, with and without credentials.
// Errors do not contain credentials.
func TestFetch(t *testing.T) {
	t.Parallel()
	store := registry.New(registry.Logger(silent))
	public := serve(t, httptest.NewServer, store)
	push(t, public)
	secured := serve(t, httptest.NewTLSServer, private(store))
	oci, securedOCI := strings.Replace(public, "http", "oci", 1), strings.Replace(secured, "https", "oci", 1)
	repo := serve(t, httptest.NewTLSServer, private(repository(t)))
	elsewhere := serve(t, httptest.NewServer, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "entries: {web: [{version: 1.0.0, urls: [%q]}]}", repo+"/charts/web.tgz")
	}))
	moved := serve(t, httptest.NewServer, http.RedirectHandler(repo+"/charts/index.yaml", http.StatusFound))
	const auth = ", auth: {kind: Secret, name: s, namespace: "
	for name, c := range map[string]struct{ args, items, chart, want string }{
		"a registry":                    {args: "registry: '" + oci + "/charts', version: 1.0.0", chart: "1.0.0"},
		"a registry as a repository":    {args: "repo: '" + oci + "/charts/', version: 1.0.0", chart: "1.0.0"},
		"a registry without scheme":     {args: "registry: '" + strings.TrimPrefix(oci, "oci://") + "/charts', version: 1.0.0", chart: "1.0.0"},
		"the highest version":           {args: "registry: '" + oci + "/charts'", chart: "1.2.0+b1"},
		"a version with build metadata": {args: "registry: '" + oci + "/charts', version: 1.2.0+b1", chart: "1.2.0+b1"},
		"a constraint":                  {args: "registry: '" + oci + "/charts', version: '~0.9'", chart: "0.9.0"},
		"a constraint without a match": {
			args: "registry: '" + oci + "/charts', version: '~7'", want: "registry " + oci[6:] + "/charts/web: it has no version ~7",
		},
		"a missing version":             {args: "registry: '" + oci + "/charts', version: 7.0.0", want: "registry " + oci[6:] + "/charts/web: 404 Not Found"},
		"an image":                      {args: "registry: '" + oci + "/charts', version: 0.1.0", want: "it has no Helm chart there"},
		"no registry":                   {args: "registry: 'oci://a:hunter2@b/c'", want: "registry oci://b/c/web: not a repository of a registry: want oci://HOST/PATH"},
		"credentials of a registry":     {args: "registry: '" + securedOCI + "/charts', version: 1.0.0" + auth + "team}", items: basic, chart: "1.0.0"},
		"credentials as text":           {args: "registry: '" + securedOCI + "/charts', version: 1.0.0" + auth + "default}", items: text, chart: "1.0.0"},
		"no credentials for a registry": {args: "registry: '" + securedOCI + "/charts', version: 1.0.0", want: "401 Unauthorized: check the Secret of chartArgs.auth"},
		"wrong credentials for a registry": {
			args: "registry: '" + securedOCI + "/charts', version: 1.0.0" + auth + "''}", items: wrong, want: "401 Unauthorized: check the Secret of chartArgs.auth",
		},
		"credentials of a repository":     {args: "repo: '" + repo + "/charts', version: 1.2.0" + auth + "team}", items: basic, chart: "1.2.0"},
		"no credentials for a repository": {args: "repo: '" + repo + "/charts'", want: "get " + repo + "/charts/index.yaml: 401 Unauthorized: check the Secret of chartArgs.auth"},
		"wrong credentials for a repository": {
			args: "repo: '" + repo + "/charts'" + auth + "default}", items: wrong, want: "get " + repo + "/charts/index.yaml: 401 Unauthorized",
		},
		"archive on another server, no credentials":  {args: "repo: '" + elsewhere + "'" + auth + "team}", items: basic, want: "get " + repo + "/charts/web.tgz: 401 Unauthorized"},
		"redirect to another server, no credentials": {args: "repo: '" + moved + "'" + auth + "team}", items: basic, want: "get " + moved + "/index.yaml: 401 Unauthorized"},
		"a token in a URL":                           {args: "repo: '" + repo + "/charts', version: 1.1.0" + auth + "team}", items: basic, want: "get " + repo + "/charts/old.tgz: 404 Not Found"},
		"a user in a URL":                            {args: "repo: 'http://a:hunter2@127.0.0.1:1/charts'", want: "get http://127.0.0.1:1/charts/index.yaml: dial tcp 127.0.0.1:1: connect: connection refused"},
		"a Secret in another namespace":              {args: "repo: '" + repo + "/charts'" + auth + "other}", items: basic, want: "chartArgs.auth: Secret other/s is not among the resources: add it to the package, with username and password"},
		"a Secret without password":                  {args: "repo: '" + repo + "/charts'" + auth + "default}", items: lesser, want: "chartArgs.auth: Secret s has no password"},
		"a Secret that is not base64":                {args: "repo: '" + repo + "/charts'" + auth + "default}", items: broken, want: "chartArgs.auth: Secret s cannot be read"},
		"no registry listens":                        {args: "registry: 'oci://127.0.0.1:1/charts', version: 1.0.0", want: "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := typed + "helmCharts: [{chartArgs: {name: web, " + c.args + "}, templateOptions: {skipTests: true}}]"
			got, err := evaluate(t, c.items, config, downloadVariable+"=true")
			_, results, _ := strings.Cut(got, "results:\n")
			switch {
			case (err != nil) != (c.want != "") || !strings.Contains(results, c.want):
				t.Errorf("error = %v, want %q; output:\n%s", err, c.want, got)
			case c.want == "" && !strings.Contains(got, "chart: "+c.chart):
				t.Errorf("want chart %s; output:\n%s", c.chart, got)
			}
			for _, secret := range []string{"hunter", "cm9ib3Q", user} {
				if strings.Contains(results, secret) || err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("credential %s is in the output: error = %v, results:\n%s", secret, err, results)
				}
			}
		})
	}
}

// Credentials are never sent to a registry without TLS, although the registry client falls back to HTTP in private networks.
func TestCredentialsNeedTLS(t *testing.T) {
	t.Parallel()
	request := httptest.NewRequest(http.MethodGet, "http://10.0.0.1/v2/", http.NoBody)
	request.SetBasicAuth(user, password)
	response, err := bounded{}.RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	if want := "credentials are not sent without TLS"; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}
