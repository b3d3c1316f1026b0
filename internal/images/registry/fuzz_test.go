// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// registryOf is a transport that acts as a registry with one manifest and one blob.
type registryOf struct {
	mediaType      string
	manifest, blob []byte
}

func (r registryOf) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	switch {
	case strings.Contains(request.URL.Path, "/manifests/"):
		body = r.manifest
	case strings.Contains(request.URL.Path, "/blobs/"):
		body = r.blob
	}
	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {r.mediaType}}, Request: request,
	}, nil
}

func sum(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

// For any response of a registry, Image returns a short error of one line, or an image that can run.
func FuzzImage(f *testing.F) {
	manifest := `{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":SIZE,"digest":"DIGEST"}}`
	f.Add(string(types.OCIManifestSchema1), manifest, `{"os":"linux","config":{"Entrypoint":["/fn"],"Cmd":["x"]}}`)
	f.Add(string(types.DockerManifestSchema2), manifest, `{"os":"windows"}`)
	f.Add(string(types.OCIImageIndex), `{"manifests":[{"mediaType":"`+string(types.OCIManifestSchema1)+
		`","digest":"DIGEST","size":SIZE,"platform":{"os":"linux","architecture":"amd64"}}]}`, manifest)
	f.Add(string(types.DockerManifestList), `{"manifests":[null,{"data":"e30=","digest":"sha256:1"}]}`, `null`)
	f.Add("text/html", "<html>", "\x00")
	f.Fuzz(func(t *testing.T, mediaType, manifest, blob string) {
		manifest = strings.ReplaceAll(manifest, "SIZE", strconv.Itoa(len(blob)))
		manifest = strings.ReplaceAll(manifest, "DIGEST", sum([]byte(blob)))
		c := registry.NewClient(registry.Options{Transport: registryOf{mediaType, []byte(manifest), []byte(blob)}})
		got, err := c.Image(t.Context(), "r.io/fn:v1", sum([]byte(manifest)))
		if err == nil && (len(got.Command) == 0 || got.Command[0] == "" || len(strings.Join(got.Command, "")) > 64<<10) {
			t.Errorf("Image() = %+v", got)
		}
		for _, platform := range got.Platforms {
			if !strings.HasPrefix(platform, "linux") || len(platform) > 128 || len(got.Platforms) > 64 {
				t.Errorf("invalid platforms %q", got.Platforms)
			}
		}
		if err != nil && (len(err.Error()) > 600 || strings.ContainsAny(err.Error(), "\n\r\x00")) {
			t.Errorf("Image() = %q, want one short line", err)
		}
	})
}
