// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/e2e/programs/filelock"
	"github.com/krmfn/krmfn/e2e/registry"
)

// TestMain runs a registry instead of the tests in the process that TestProcessRunsOnceUntilItIsStopped starts.
func TestMain(m *testing.M) {
	if address := os.Getenv("TEST_REGISTRY_ADDRESS"); address != "" {
		listener, err := net.Listen("tcp", address)
		if err == nil {
			err = registry.Serve(context.Background(), listener, os.Getenv("TEST_REGISTRY_DIR"))
		}
		panic(err)
	}
	os.Exit(m.Run())
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func TestServeKeepsImagesUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	listener, dir := listen(t), t.TempDir()
	address := listener.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- registry.Serve(ctx, listener, dir) }()

	img, err := random.Image(1000, 2)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(address + "/a/b:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img, remote.WithContext(ctx)); err != nil {
		t.Fatal(err)
	}
	head, err := remote.Head(ref, remote.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := img.Digest(); head.Digest != want {
		t.Errorf("Head() digest = %s, want %s", head.Digest, want)
	}
	if err := registry.Reachable(ctx, address); err != nil {
		t.Errorf("Reachable() of a running registry = %v, want nil", err)
	}
	var held *filelock.HeldError
	if err := registry.Serve(ctx, listen(t), dir); !errors.As(err, &held) {
		t.Errorf("second Serve() in the same directory = %v, want a HeldError", err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve() = %v, want nil", err)
	}
	if err := registry.Reachable(t.Context(), address); err == nil {
		t.Error("Reachable() of a stopped registry succeeded, want an error")
	}
}

func TestReachableDetectsOtherServers(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	err := registry.Reachable(t.Context(), strings.TrimPrefix(other.URL, "http://"))
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("Reachable() = %v, want the status of the other server", err)
	}
}

func TestHostsFile(t *testing.T) {
	t.Parallel()
	path, text := registry.HostsFile("172.18.0.1:5000")
	if want := "/etc/containerd/certs.d/172.18.0.1:5000/hosts.toml"; path != want {
		t.Errorf("HostsFile() path = %s, want %s", path, want)
	}
	want := `server = "http://172.18.0.1:5000"

[host."http://172.18.0.1:5000"]
  capabilities = ["pull", "resolve"]
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("HostsFile() text (-want +got):\n%s", diff)
	}
}
