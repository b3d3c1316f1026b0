// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"context"
	"debug/elf"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/internal/images/ociimage"
)

// searchPath is the environment variable PATH of containers.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// controlPlane describes the images that kubeadm starts: an archive for ctr images import, and the reference of the pause image.
type controlPlane struct{ file, pause string }

// image describes a container image of the control plane: its program, the path of the program, and whether the program is the entrypoint.
// Manifests of the other images name the program in their command.
type image struct {
	program, path string
	entrypoint    bool
}

// images maps the last element of the repository to the image.
var images = map[string]image{
	"kube-apiserver":          {program: "kube-apiserver", path: "usr/local/bin/kube-apiserver"},
	"kube-controller-manager": {program: "kube-controller-manager", path: "usr/local/bin/kube-controller-manager"},
	"kube-scheduler":          {program: "kube-scheduler", path: "usr/local/bin/kube-scheduler"},
	"kube-proxy":              {program: "kube-proxy", path: "usr/local/bin/kube-proxy"},
	// The Go compiler names a program after the last element of its package path, except a version suffix.
	"etcd":    {program: "server", path: "usr/local/bin/etcd"},
	"coredns": {program: "coredns", path: "coredns", entrypoint: true},
	"pause":   {program: "pause", path: "pause", entrypoint: true},
}

// controlPlane creates the images under the references that kubeadm uses.
func (b *builder) controlPlane(ctx context.Context, all programs) (controlPlane, error) {
	list, err := command.Run(ctx, all["kubeadm"], "config", "images", "list", "--kubernetes-version", string(b.version))
	if err != nil {
		return controlPlane{}, err
	}
	made := controlPlane{file: filepath.Join(b.work, "control-plane.tar")}
	byRef := make(map[name.Reference]v1.Image)
	for reference := range strings.FieldsSeq(list) {
		ref, err := name.NewTag(reference)
		if err != nil {
			return controlPlane{}, err
		}
		base := filepath.Base(ref.RepositoryStr())
		i, ok := images[base]
		if !ok {
			return controlPlane{}, fmt.Errorf("kubeadm asks for %s, which the recipe lacks", reference)
		}
		if base == "pause" {
			made.pause = reference
		}
		if byRef[ref], err = b.image(base, i, all); err != nil {
			return controlPlane{}, fmt.Errorf("image %s: %w", reference, err)
		}
	}
	return made, tarball.MultiRefWriteToFile(made.file, byRef)
}

func (b *builder) image(base string, i image, all programs) (v1.Image, error) {
	files := ociimage.Files{i.path: ociimage.Copy(all[i.program], 0o755)}
	if base == "kube-proxy" {
		if err := b.addNetfilter(files); err != nil {
			return nil, err
		}
	}
	layer, err := ociimage.Layer(files)
	if err != nil {
		return nil, err
	}
	config := v1.Config{Env: []string{searchPath}}
	if i.entrypoint {
		config.Entrypoint = []string{"/" + i.path}
	}
	return ociimage.Image{Platform: v1.Platform{OS: "linux", Architecture: b.arch}, Config: config, Layers: []v1.Layer{layer}}.Build()
}

// addNetfilter adds the programs that kube-proxy executes, and the libraries that they load.
func (b *builder) addNetfilter(files ociimage.Files) error {
	const sbin = "usr/sbin/"
	for _, command := range []string{"conntrack", "nft", "xtables-nft-multi", "xtables-legacy-multi"} {
		if err := b.addProgram(files, sbin+command); err != nil {
			return err
		}
	}
	plugins, err := filepath.Glob(b.path("usr/lib/*/xtables/*.so"))
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		path, err := filepath.Rel(b.root, plugin)
		if err != nil {
			return err
		}
		if err := b.addProgram(files, path); err != nil {
			return err
		}
	}
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, action := range []string{"", "-save", "-restore"} {
			files[sbin+family+action] = ociimage.Symlink("xtables-nft-multi")
		}
	}
	// xtables stores its lock file in /run.
	files["run"] = ociimage.Directory(0o1777)
	files["tmp"] = ociimage.Directory(0o1777)
	return nil
}

// addProgram adds a program or library of the root file system, its interpreter, and all libraries that it loads.
func (b *builder) addProgram(files ociimage.Files, path string) error {
	if _, ok := files[path]; ok {
		return nil
	}
	// EvalSymlinks resolves links; the copy has the requested name.
	source, err := filepath.EvalSymlinks(b.path(path))
	if err != nil {
		return err
	}
	files[path] = ociimage.Copy(source, 0o755)
	program, err := elf.Open(source)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer program.Close()
	libraries, err := program.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, library := range libraries {
		if err := b.addLibrary(files, library); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return b.addInterpreter(files, program)
}

func (b *builder) addLibrary(files ociimage.Files, name string) error {
	source, err := b.library(name)
	if err != nil {
		return err
	}
	path, err := filepath.Rel(b.root, source)
	if err != nil {
		return err
	}
	return b.addProgram(files, path)
}

// addInterpreter adds the dynamic linker at the path that the program names.
func (b *builder) addInterpreter(files ociimage.Files, program *elf.File) error {
	section := program.Section(".interp")
	if section == nil {
		return nil
	}
	data, err := section.Data()
	if err != nil {
		return err
	}
	path := strings.Trim(string(data), "/\x00")
	source, err := b.library(filepath.Base(path))
	if err != nil {
		return err
	}
	files[path] = ociimage.Copy(source, 0o755)
	return nil
}

// library returns the path of a library on this machine.
func (b *builder) library(name string) (string, error) {
	found, err := filepath.Glob(b.path("usr/lib/*-linux-gnu", name))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("needs the library %s, which is there %d times", name, len(found))
	}
	return found[0], nil
}
