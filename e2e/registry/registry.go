// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry runs the container registry for the cluster. The registry is a process on this machine that serves plain HTTP at an
// address that nodes, pods and the machine can reach.
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
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/krmfn/krmfn/e2e/programs/filelock"
	"github.com/krmfn/krmfn/e2e/programs/server"
)

// Serve serves a registry until ctx ends. It stores blobs in dir and manifests in memory, so it first deletes the blobs of an earlier
// registry, which are unreachable without their manifests. It returns a *filelock.HeldError if another registry uses dir.
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

// Reachable returns nil if a registry responds at an address.
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

// HostsFile returns the path and the content of the file that makes a node's containerd use plain HTTP for the registry at an address.
func HostsFile(address string) (path, text string) {
	url := "http://" + address
	return "/etc/containerd/certs.d/" + address + "/hosts.toml",
		fmt.Sprintf("server = %q\n\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", url, url)
}

// startupTimeout is the time limit for a registry to respond, and to stop.
const startupTimeout = 10 * time.Second

// Process is a registry in a separate process, which outlives the process that starts it.
type Process struct {
	// Address is the address that the registry listens on, as IP:PORT.
	Address string
	// Dir is the directory for blobs and the log.
	Dir string
	// Command is a command line that calls Serve with the address and the directory.
	Command []string
}

// Ensure starts the registry if it is not running. It returns whether it did; a new registry is empty.
func (p Process) Ensure(ctx context.Context) (started bool, err error) {
	held, err := p.holder()
	if err != nil {
		return false, err
	}
	if held != nil && Reachable(ctx, p.Address) == nil {
		return false, nil
	}
	// A registry at another address must be restarted.
	if err := p.Stop(ctx); err != nil {
		return false, err
	}
	server := server.Detached{
		Command: p.Command, Log: filepath.Join(p.Dir, "log"), Startup: startupTimeout,
		Answers: func(ctx context.Context) error { return Reachable(ctx, p.Address) },
	}
	return true, server.Start(ctx)
}

// Stop stops the registry if it is running, and waits until it has exited.
func (p Process) Stop(ctx context.Context) error {
	held, err := p.holder()
	if held == nil || err != nil {
		return err
	}
	// The lock guarantees that the PID still belongs to the registry.
	if err := syscall.Kill(held.PID, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the registry, process %d: %w", held.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startupTimeout)
	defer cancel()
	lock, err := filelock.Wait(ctx, lockFile(p.Dir), func(*filelock.HeldError) {})
	if err != nil {
		return fmt.Errorf("stop the registry: %w", err)
	}
	return lock.Unlock()
}

// holder returns the process that runs the registry, or nil.
func (p Process) holder() (*filelock.HeldError, error) {
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := filelock.Try(lockFile(p.Dir))
	if held, ok := errors.AsType[*filelock.HeldError](err); ok {
		// The PID is 0 for a moment after the registry has acquired the lock.
		if held.PID == 0 {
			return nil, err
		}
		return held, nil
	}
	if err != nil {
		return nil, err
	}
	return nil, lock.Unlock()
}
