// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// cloud starts a token server, and removes all other credentials from the environment. The server fails until works is set.
func cloud(t *testing.T, answer string) (works *atomic.Bool, asked *atomic.Int64) {
	t.Helper()
	works, asked = &atomic.Bool{}, &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Metadata-Flavor", "Google")
		if !works.Load() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "XDG_RUNTIME_DIR": home, "DOCKER_CONFIG": home, "GOOGLE_APPLICATION_CREDENTIALS": "",
		"GCE_METADATA_HOST": strings.TrimPrefix(server.URL, "http://"), "AWS_ENDPOINT_URL": server.URL, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_ECR_DISABLE_CACHE": "true",
	} {
		t.Setenv(name, value)
	}
	return works, asked
}

func found(t *testing.T, k authn.Keychain, ref string) string {
	t.Helper()
	target, err := name.NewRepository(ref)
	if err != nil {
		t.Fatal(err)
	}
	auth, err := authn.Resolve(t.Context(), k, target)
	if err != nil {
		t.Fatal(err)
	}
	config, err := authn.Authorization(t.Context(), auth)
	if err != nil {
		t.Fatal(err)
	}
	return config.Username + "|" + config.Password
}

//nolint:paralleltest // the test changes the environment
func TestGoogle(t *testing.T) {
	works, asked := cloud(t, `{"access_token":"t0ken","expires_in":3600,"token_type":"Bearer"}`)
	k := Keychain()
	if got := found(t, k, "gcr.io/p/fn"); got != "|" {
		t.Errorf("credentials while the metadata server fails = %q", got)
	}
	works.Store(true)
	for _, ref := range []string{"gcr.io/p/fn", "eu.gcr.io/p/fn", "europe-docker.pkg.dev/p/r/fn"} {
		if got := found(t, k, ref); got != "_token|t0ken" {
			t.Errorf("credentials for %s = %q", ref, got)
		}
	}
	before := asked.Load()
	for _, ref := range []string{"r.io/fn", "fn", "xgcr.io/fn", "gcr.io.example.org/fn"} {
		if got := found(t, k, ref); got != "|" {
			t.Errorf("credentials for %s = %q", ref, got)
		}
	}
	if asked.Load() != before {
		t.Error("requests for other registries, want none")
	}
}

func TestAmazon(t *testing.T) {
	const host = "123456789012.dkr.ecr.eu-central-1.amazonaws.com"
	works, _ := cloud(t, fmt.Sprintf(`{"authorizationData":[{"authorizationToken":"QVdTOnMzY3JldA==","expiresAt":%d,"proxyEndpoint":"https://%s"}]}`,
		time.Now().Add(time.Hour).Unix(), host))
	k := Keychain()
	if got := found(t, k, host+"/fn"); got != "|" {
		t.Errorf("credentials while the token server fails = %q", got)
	}
	works.Store(true)
	if got := found(t, k, host+"/fn"); got != "AWS|s3cret" {
		t.Errorf("credentials = %q", got)
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Dir(t.TempDir()))
	if got := found(t, k, host+"/fn"); got != "|" {
		t.Errorf("credentials with an unreadable configuration = %q", got)
	}
}
