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
	"strings"

	"github.com/krmfn/krmfn/e2e/offline/debian"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// release is the one of Debian whose systemd still runs where the host has cgroup v1.
const release = "bookworm"

// packages are what a node needs of Debian: an init system, what kubelet, kube-proxy and containerd call, and what kind's
// scripts call.
var packages = []string{
	"systemd", "systemd-sysv", "dbus",
	"conntrack", "ethtool", "hostname", "iproute2", "iptables", "kmod", "mount", "nftables", "procps", "e2fsprogs",
	"containernetworking-plugins", "libseccomp2", "pigz", "runc",
	"ca-certificates", "curl", "jq",
}

// unused are files of the packages that nobody reads in a node.
var unused = []string{"usr/share/doc", "usr/share/man", "usr/share/locale", "var/lib/apt/lists", "var/cache/apt", "var/log/bootstrap.log"}

// debian installs the packages.
func (b *builder) debian(ctx context.Context) error {
	if err := debian.Install(ctx, b.progress, "debootstrap", "debootstrap"); err != nil {
		return err
	}
	archives := filepath.Join(b.cache, "debs")
	if err := os.MkdirAll(archives, 0o755); err != nil {
		return err
	}
	install := exec.CommandContext(ctx, "nice", "-n", "10", "debootstrap", "--variant=minbase", "--cache-dir="+archives,
		"--include="+strings.Join(packages, ","), release, b.root)
	if _, err := command.Output(install); err != nil {
		return fmt.Errorf("%w (root file system of a node)", err)
	}
	errs := make([]error, 0, len(unused))
	for _, path := range unused {
		errs = append(errs, os.RemoveAll(filepath.Join(b.root, path)))
	}
	return errors.Join(errs...)
}
