// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/e2e/programs/command"
)

// startup is the time limit for containerd to respond.
const startup = 30 * time.Second

// preload imports images into the containerd store of the node. It runs a temporary containerd on this machine with the node's directory.
func (b *builder) preload(ctx context.Context, all programs, archive string) (err error) {
	// The path of a socket is limited to about 100 bytes, and the cache's path may be longer.
	dir, err := os.MkdirTemp("", "krmfn-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config, socket := filepath.Join(dir, "config.toml"), filepath.Join(dir, "grpc")
	if err := os.WriteFile(config, []byte(storeConfig(b.path("var/lib/containerd"), dir, socket)), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // containerd has its own
	server := exec.CommandContext(ctx, all["containerd"], "--config", config)
	server.Stdout, server.Stderr = log, log
	server.Env = append(os.Environ(), "PATH="+filepath.Dir(all["containerd"])+":"+os.Getenv("PATH"))
	// On SIGTERM, containerd flushes its metadata before it exits.
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	if err := server.Start(); err != nil {
		return err
	}
	err = b.importImages(ctx, all["ctr"], socket, archive)
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		err = fmt.Errorf("%w; containerd's log ends with: %s", err, text[max(0, len(text)-1000):])
	}
	if stopErr := server.Cancel(); stopErr != nil {
		return errors.Join(err, stopErr)
	}
	return errors.Join(err, server.Wait())
}

// storeConfig returns the configuration of a containerd that only stores images.
func storeConfig(root, state, socket string) string {
	return fmt.Sprintf(`version = 3
root = %q
state = %q
disabled_plugins = [
  "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri",
  "io.containerd.nri.v1.nri",
]
[grpc]
  address = %q
[ttrpc]
  address = %q
`, root, filepath.Join(state, "state"), socket, socket+".ttrpc")
}

// importImages imports an archive into the namespace of Kubernetes. It pins the images, which protects them from the kubelet's garbage
// collection. They could not be pulled again, because no registry has them.
func (b *builder) importImages(ctx context.Context, ctr, socket, archive string) error {
	started, cancel := context.WithTimeout(ctx, startup)
	defer cancel()
	for {
		_, err := command.Run(started, ctr, "--address", socket, "version")
		if err == nil {
			break
		}
		select {
		case <-started.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
	_, err := command.Run(ctx, ctr, "--address", socket, "--namespace", "k8s.io", "images", "import",
		"--no-unpack", "--digests", "--label=io.cri-containerd.pinned=pinned", archive)
	return err
}
