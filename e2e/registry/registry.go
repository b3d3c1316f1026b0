// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry has the container registry beside the cluster. It is a process of this machine that speaks plain HTTP,
// at an address that nodes, pods and the machine itself reach alike.
package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log" //nolint:depguard // the registry's library logs with it
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/krmfn/krmfn/e2e/programs/filelock"
)

// Serve serves a registry until ctx ends. Blobs are in dir, which it empties first: manifests are in memory, and nobody
// finds the blobs of a former registry without them. The error is a *filelock.HeldError if dir is another registry's.
func Serve(ctx context.Context, listener net.Listener, dir string) (err error) {
	lock, err := filelock.Try(lockFile(dir))
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	blobs := filepath.Join(dir, "blobs")
	if err := errors.Join(os.RemoveAll(blobs), os.MkdirAll(blobs, 0o755)); err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{
		Handler: registry.New(
			registry.WithBlobHandler(registry.NewDiskBlobHandler(blobs)),
			registry.Logger(stdlog.New(io.Discard, "", 0)),
		),
		ReadHeaderTimeout: 10 * time.Second,
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		_ = server.Close()
	})
	err = server.Serve(listener)
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("registry: %w", err)
}

func lockFile(dir string) string { return filepath.Join(dir, "pid") }

// Reachable returns nil if a registry answers at an address.
func Reachable(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v2/", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("registry: %s answers %s, is it another server?", address, response.Status)
	}
	return nil
}

// HostsFile returns the path and the text of the file by which a node's containerd learns to speak plain HTTP to the
// registry at an address.
func HostsFile(address string) (path, text string) {
	url := "http://" + address
	return "/etc/containerd/certs.d/" + address + "/hosts.toml",
		fmt.Sprintf("server = %q\n\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", url, url)
}
