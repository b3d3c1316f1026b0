// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// wide is a transport that acts as a registry with an index of 20 images.
type wide struct {
	index, image, config string
	// enters is called for each request for an image's manifest.
	enters func()
}

func newWide(enters func()) *wide {
	w := &wide{config: `{"os":"linux","architecture":"amd64","config":{"Cmd":["fn"]}}`, enters: enters}
	w.image = fmt.Sprintf(`{"config":{"mediaType":%q,"size":%d,"digest":%q}}`, types.OCIConfigJSON, len(w.config), sum([]byte(w.config)))
	var children []string
	for i := range 20 {
		children = append(children, fmt.Sprintf(`{"mediaType":%q,"digest":%q,"platform":{"os":"linux","architecture":"a%d"}}`,
			types.OCIManifestSchema1, sum([]byte(w.image)), i))
	}
	w.index = `{"manifests":[` + strings.Join(children, ",") + `]}`
	return w
}

func (w *wide) RoundTrip(r *http.Request) (*http.Response, error) {
	body, mediaType := "", types.OCIManifestSchema1
	switch {
	case strings.HasSuffix(r.URL.Path, sum([]byte(w.index))):
		body, mediaType = w.index, types.OCIImageIndex
	case strings.HasSuffix(r.URL.Path, sum([]byte(w.image))):
		w.enters()
		body = w.image
	case strings.Contains(r.URL.Path, "/blobs/"):
		body = w.config
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {string(mediaType)}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

func TestImagesOfAnIndexAreReadConcurrently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int64
		hold, done := make(chan struct{}), make(chan struct{})
		w := newWide(func() {
			running.Add(1)
			<-hold
			running.Add(-1)
		})
		go func() {
			defer close(done)
			got, err := registry.NewClient(registry.Options{Transport: w}).Image(t.Context(), "r.io/fn", sum([]byte(w.index)))
			if err != nil || len(got.Platforms) != 20 {
				t.Errorf("Image() = %+v, %v", got, err)
			}
		}()
		synctest.Wait()
		if got := running.Load(); got != 8 {
			t.Errorf("%d concurrent requests, want 8", got)
		}
		close(hold)
		<-done
	})
}

func TestPanicOfOneImage(t *testing.T) {
	t.Parallel()
	w := newWide(func() { panic("out of\nreach") })
	_, err := registry.NewClient(registry.Options{Transport: w}).Image(t.Context(), "r.io/fn", sum([]byte(w.index)))
	if err == nil || !strings.Contains(err.Error(), "panicked: out of") {
		t.Errorf("Image() = %v, want an error with the panic's value", err)
	}
}
