// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfigs_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/krmfn/krmfn/function-runner/internal/functionconfigs"
)

func TestServed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code       int
		body       string
		want, fail bool
	}{
		"there":         {code: http.StatusOK, body: `{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"functionconfigs/status"},{"name":"functionconfigs"}]}`, want: true},
		"another":       {code: http.StatusOK, body: `{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"packagevariants"}]}`},
		"no such group": {code: http.StatusNotFound, body: "404 page not found"},
		"down":          {code: http.StatusServiceUnavailable, body: "", fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/apis/config.porch.kpt.dev/v1alpha1" {
					t.Errorf("request path = %s, want /apis/config.porch.kpt.dev/v1alpha1", r.URL.Path)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.code)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			got, err := functionconfigs.Served(t.Context(), client.RESTClient())
			if got != tc.want || (err != nil) != tc.fail {
				t.Errorf("Served() = %v, %v, want %v and an error: %v", got, err, tc.want, tc.fail)
			}
			server.CloseClientConnections()
			http.DefaultClient.CloseIdleConnections()
		})
	}
}
