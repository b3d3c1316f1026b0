// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// installed maps directories to the programs that nodes run outside of containers.
var installed = map[string][]string{
	"usr/local/bin": {"containerd", "containerd-shim-runc-v2", "ctr"},
	"usr/bin":       {"kubeadm", "kubectl", "kubelet"},
}

// needed lists directories that kind, kubeadm and containerd expect.
var needed = []string{"etc/cni/net.d", "etc/containerd/certs.d", "etc/kubernetes/manifests", "opt/cni/bin"}

// copyFiles copies kind's files, the files of this package and the programs into the root file system.
func (b *builder) copyFiles(all programs) error {
	own, err := fs.Sub(recipe, "recipe/rootfs")
	if err != nil {
		return err
	}
	for _, files := range []fs.FS{os.DirFS(b.kindFiles), own} {
		if err := b.overlay(files); err != nil {
			return fmt.Errorf("copy files over the root file system: %w", err)
		}
	}
	for _, dir := range needed {
		if err := os.MkdirAll(b.path(dir), 0o755); err != nil {
			return err
		}
	}
	for dir, names := range installed {
		for _, name := range names {
			if err := copyFile(all[name], b.path(dir, name), 0o755); err != nil {
				return err
			}
		}
	}
	plugins, err := filepath.Glob(b.path("usr/lib/cni/*"))
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		if err := copyFile(plugin, b.path("opt/cni/bin", filepath.Base(plugin)), 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(b.path("kind/version"), []byte(b.version), 0o644)
}

// overlay copies all files to the same paths in the root file system. Go modules and embedded file systems do not preserve modes, so files
// in bin directories become executable.
func (b *builder) overlay(files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := b.path(path)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		mode := fs.FileMode(0o644)
		if filepath.Base(filepath.Dir(path)) == "bin" {
			mode = 0o755
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return writeFile(target, data, mode)
	})
}

// path returns the path on this machine of a path in the node.
func (b *builder) path(elements ...string) string {
	return filepath.Join(append([]string{b.root}, elements...)...)
}

func copyFile(source, target string, mode fs.FileMode) error {
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	return writeFile(target, data, mode)
}

// writeFile writes a file and also sets the mode of an existing file.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// configureContainerd changes kind's configuration of containerd. It selects the preloaded pause image, and disables lowering OOM scores,
// which requires a capability that some hosts cannot grant to containers.
func (b *builder) configureContainerd(pause string) error {
	path := b.path("etc/containerd/config.toml")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := containerdConfig(string(data), pause)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func containerdConfig(text, pause string) (string, error) {
	lines := strings.Split(text, "\n")
	for key, value := range map[string]string{"sandbox_image": `"` + pause + `"`, "restrict_oom_score_adj": "true"} {
		found := 0
		for i, line := range lines {
			if indent, _, ok := strings.Cut(line, key+" ="); ok && strings.TrimSpace(indent) == "" {
				lines[i] = indent + key + " = " + value
				found++
			}
		}
		if found != 1 {
			return "", fmt.Errorf("%d lines that set %s, want one: is this another version of kind?", found, key)
		}
	}
	return strings.Join(lines, "\n"), nil
}
