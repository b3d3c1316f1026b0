// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"os"

	"github.com/krmfn/krmfn/krmfn/internal/engine/entrypoint"
)

// Label is a label of all containers that this package starts.
const Label = "dev.krmfn.function"

// nobody is the default user and group of functions, as in kpt. It is numeric because images need not know the name.
const nobody = "65534:65534"

// entrypointPath is the path of the entrypoint in a reusable container.
const entrypointPath = "/krm-function-entrypoint"

// runArguments returns the engine's arguments up to the image: those that kpt uses, a name to remove the container by, and limits. The
// root file system stays writable, as in kpt, because images may expect to write outside /tmp.
func (o *Options) runArguments(name string, limits []string) []string {
	network, user := "none", nobody
	if o.Network {
		network = "host"
	}
	if o.CurrentUser {
		user = fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
	}
	args := make([]string, 0, 24+2*len(o.Mounts)+2*len(o.Env))
	args = append(args,
		"run", "--rm", "-i", "--name", name, "--label", Label+"=true", "--network", network, "--user", user,
		"--security-opt=no-new-privileges", "--pull", "never",
	)
	args = append(args, limits...)
	if !o.CurrentUser {
		// The current user may be root, who needs capabilities to access other users' files in mounts. The user nobody needs none.
		args = append(args, "--cap-drop", "ALL")
	}
	for _, m := range o.Mounts {
		args = append(args, "--mount", m.String())
	}
	for _, kv := range o.Env {
		args = append(args, "-e", kv)
	}
	return args
}

// reusableArguments returns the engine's arguments for a reusable container of an image.
func (o *Options) reusableArguments(name string, limits []string, i *image) []string {
	program := Mount{Type: "bind", Source: o.Entrypoint, Target: entrypointPath}
	args := append(o.runArguments(name, limits), "--mount", program.String(), "--entrypoint", entrypointPath, i.ref, entrypoint.Name)
	return append(args, i.command...)
}
