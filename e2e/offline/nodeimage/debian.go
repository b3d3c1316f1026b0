// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/krmfn/krmfn/e2e/offline/debian"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// release is a Debian release whose systemd still supports hosts with cgroup v1.
const release = "bookworm"

// packages lists the Debian packages of a node: an init system, and the programs that kubelet, kube-proxy, containerd and kind's scripts
// execute.
var packages = []string{
	"systemd", "systemd-sysv", "dbus",
	"conntrack", "ethtool", "hostname", "iproute2", "iptables", "kmod", "mount", "nftables", "procps", "e2fsprogs",
	"containernetworking-plugins", "libseccomp2", "pigz", "runc",
	"ca-certificates", "curl", "jq",
}

// unused lists files in the packages that nodes do not need.
var unused = []string{"usr/share/doc", "usr/share/man", "usr/share/locale", "var/lib/apt/lists", "var/cache/apt", "var/log/bootstrap.log"}

// debian creates the root file system and installs the packages.
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

// hardware lists systemd units that do not work in a container.
var hardware = []string{
	"lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
	"lib/systemd/system/multi-user.target.wants/*",
	"lib/systemd/system/local-fs.target.wants/*",
	"lib/systemd/system/basic.target.wants/*",
	"lib/systemd/system/sockets.target.wants/*udev*",
	"lib/systemd/system/sockets.target.wants/*initctl*",
	"etc/systemd/system/*.wants/*",
}

// wanted lists the units that a node starts.
var wanted = []string{"containerd.service", "kubelet.service", "undo-mount-hacks.service"}

// units configures the units that systemd starts.
func (b *builder) units() error {
	for _, pattern := range hardware {
		paths, err := filepath.Glob(b.path(pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	const system = "etc/systemd/system"
	wants := b.path(system, "multi-user.target.wants")
	if err := os.MkdirAll(wants, 0o755); err != nil {
		return err
	}
	for _, unit := range wanted {
		if err := os.Symlink("/"+system+"/"+unit, filepath.Join(wants, unit)); err != nil {
			return err
		}
	}
	return errors.Join(
		// systemd-binfmt would change the configuration of the host's kernel.
		os.Symlink("/dev/null", b.path(system, "systemd-binfmt.service")),
		// The node's journal does not need the host's kernel log.
		writeFile(b.path("etc/systemd/journald.conf.d/kmsg.conf"), []byte("[Journal]\nReadKMsg=no\n"), 0o644),
	)
}

// containerSpec writes the base specification of all containers: containerd's defaults, and kind's hook that hides the host's hardware
// identity.
func (b *builder) containerSpec(ctx context.Context, ctr string) error {
	defaults, err := command.Run(ctx, ctr, "oci", "spec")
	if err != nil {
		return err
	}
	spec, err := containerSpec([]byte(defaults))
	if err != nil {
		return fmt.Errorf("ctr oci spec: %w", err)
	}
	return writeFile(b.path("etc/containerd/cri-base.json"), spec, 0o644)
}

func containerSpec(defaults []byte) ([]byte, error) {
	var spec map[string]any
	if err := json.Unmarshal(defaults, &spec); err != nil {
		return nil, err
	}
	process, ok := spec["process"].(map[string]any)
	if !ok {
		return nil, errors.New("no process in it")
	}
	// Without rlimits, containers inherit the node's limits.
	delete(process, "rlimits")
	spec["hooks"] = map[string]any{
		"createContainer": []any{map[string]string{"path": "/kind/bin/mount-product-files.sh"}},
	}
	return json.Marshal(spec)
}
