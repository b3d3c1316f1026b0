// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/registry/ociimage"
	"github.com/krmfn/krmfn/e2e/registry/publish"
)

const (
	// name is the function that is measured, and resources how many it gets.
	name      = "set-labels"
	resources = 10
	// path is where its executable is in its image, and user whom it runs as.
	path, user = "/function", "10001:10001"
)

// function is one function, as an executable of this machine and as an image that holds the same one.
type function struct {
	binary, repository string
	image              v1.Image
	list               []byte
	pushed             int
}

func newFunction(bin, registry string) (*function, error) {
	f := &function{binary: filepath.Join(bin, binaries.FunctionsLight), repository: registry + "/bench/" + name, list: resourceList()}
	layer, err := ociimage.Layer(ociimage.Files{path[1:]: {Source: f.binary}, "tmp": {}})
	if err != nil {
		return nil, fmt.Errorf("image of the function: %w: try make build", err)
	}
	config := v1.Config{User: user, Entrypoint: []string{path, name}, Env: []string{"PATH=/"}}
	f.image, err = ociimage.Image(runtime.GOARCH, config, layer)
	return f, err
}

// push pushes the image under a tag that it never had, and returns its reference. All references have the same digest.
func (f *function) push(ctx context.Context) (string, error) {
	f.pushed++
	image, err := publish.Push(ctx, fmt.Sprintf("%s:v%d-%d", f.repository, time.Now().Unix(), f.pushed), f.image)
	return image.Reference, err
}

// bare runs the function as a process.
func (f *function) bare(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, f.binary, name)
	cmd.Stdin = bytes.NewReader(f.list)
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	return checked(out)
}

// checked makes sure that an output is one: an error must not pass as a fast call.
func checked(out []byte) error {
	if !bytes.Contains(out, []byte("team: platform")) {
		return errors.New("the output lacks the label")
	}
	return nil
}

func resourceList() []byte {
	var list strings.Builder
	list.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for i := range resources {
		fmt.Fprintf(&list, "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: cm-%d\n    labels:\n      tier: backend\n  data:\n    key: value\n", i)
	}
	list.WriteString("functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: function-input\n  data:\n    team: platform\n")
	return []byte(list.String())
}
