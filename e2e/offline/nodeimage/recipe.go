// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Repository is the repository of built images in the Docker engine. They are never pushed.
const Repository = "krmfn/kind-node"

// recipe contains the inputs of an image other than Go modules and Debian packages:
//
//	modules  go.mod and go.sum of each component, by its name; go test -update tidies them after a version change
//	pause    the program that holds a pod's namespaces
//	rootfs   files to copy into the root file system
//
//go:embed recipe
var recipe embed.FS

// code is the source of this package. Code changes that affect the build change the image's tag.
//
//go:embed *.go
var code embed.FS

// component is a set of Go programs in one module.
type component struct {
	name      string // name of the files in recipe/modules
	packages  []string
	tags      string
	variables []string // set by the linker, as "package.name=value"
}

const containerd = "github.com/containerd/containerd/v2"

// components returns the components of a node for a version of Kubernetes.
func components(v Version) []component {
	return append([]component{v.component()}, others...)
}

// component returns the component with the programs of Kubernetes.
func (v Version) component() component {
	c := component{
		name: "kubernetes",
		packages: []string{
			"k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kube-controller-manager",
			"k8s.io/kubernetes/cmd/kube-scheduler", "k8s.io/kubernetes/cmd/kube-proxy",
			"k8s.io/kubernetes/cmd/kubelet", "k8s.io/kubernetes/cmd/kubeadm", "k8s.io/kubernetes/cmd/kubectl",
		},
		variables: []string{
			"k8s.io/component-base/version.gitVersion=" + string(v),
			"k8s.io/component-base/version.gitMajor=1",
			"k8s.io/component-base/version.gitMinor=" + strings.TrimPrefix(v.minor(), "1."),
			"k8s.io/client-go/pkg/version.gitVersion=" + string(v),
		},
	}
	if v != Newest {
		c.name += "-" + v.minor()
	}
	return c
}

// others are the components that do not depend on the version of Kubernetes.
var others = []component{
	{
		name:      "containerd",
		packages:  []string{containerd + "/cmd/containerd", containerd + "/cmd/containerd-shim-runc-v2", containerd + "/cmd/ctr"},
		tags:      "no_aufs,no_btrfs,no_devmapper,no_zfs",
		variables: []string{containerd + "/version.Version=v2.4.2"},
	},
	{name: "etcd", packages: []string{"go.etcd.io/etcd/server/v3"}},
	{name: "coredns", packages: []string{"github.com/coredns/coredns"}},
}

// hash returns an ID of a component's inputs.
func (c component) hash(arch string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q %q %q\n", arch, c.packages, c.tags, c.variables)
	for _, file := range []string{".mod", ".sum"} {
		data, err := recipe.ReadFile("recipe/modules/" + c.name + file)
		if err != nil {
			panic(err) // The file is embedded, so reading it cannot fail.
		}
		h.Write(data)
	}
	return short(h.Sum(nil))
}

// Tag returns the reference of the built image for a version of Kubernetes, an architecture and a version of kind, whose base files the
// image contains.
func Tag(v Version, arch, kindVersion string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, v, arch, kindVersion)
	if err := errors.Join(hashFiles(h, recipe), hashCode(h, code)); err != nil {
		return "", fmt.Errorf("hash of the node image's recipe: %w", err)
	}
	return v.images() + short(h.Sum(nil)), nil
}

// hashFiles writes the names and contents of all files.
func hashFiles(w io.Writer, files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s %d\n", path, len(data))
		_, err = w.Write(data)
		return err
	})
}

// hashCode writes the declarations in all Go files except tests. It ignores comments, imports and the distribution over files, because they
// do not affect the image, and a rebuild takes minutes.
func hashCode(w io.Writer, files fs.FS) error {
	names, err := fs.Glob(files, "*.go")
	if err != nil {
		return err
	}
	var declarations []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, data, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range parsed.Decls {
			if group, ok := declaration.(*ast.GenDecl); ok && group.Tok == token.IMPORT {
				continue
			}
			var text strings.Builder
			// An empty file set drops the positions, so that the text does not depend on the layout of the source.
			if err := printer.Fprint(&text, token.NewFileSet(), declaration); err != nil {
				return err
			}
			declarations = append(declarations, text.String())
		}
	}
	slices.Sort(declarations)
	_, err = fmt.Fprintf(w, "%q\n", declarations)
	return err
}

func short(sum []byte) string { return hex.EncodeToString(sum)[:12] }
