// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"os"

	"github.com/krmfn/krmfn/services/evaluation/engine/entrypoint"
)

// Label is on all containers that this package starts.
const Label = "dev.krmfn.function"

// nobody is who functions run as, as in kpt. It is a number, as images need not have the name.
const nobody = "65534:65534"

// entrypointPath is where a container that is kept has its entrypoint.
const entrypointPath = "/krm-function-entrypoint"

// runArguments are what starts a container for an image, up to the image: what kpt gives the engine, a name to remove it by, and limits.
// The root stays writable, as in kpt: images may have directories for all users outside of /tmp, and files in /tmp.
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
		// The current user may be root, who needs capabilities for mounted files of others. The user nobody has no use for any.
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

// keptArguments are what starts a container that answers many calls of an image's command.
func (o *Options) keptArguments(name string, limits []string, i *image) []string {
	program := Mount{Type: "bind", Source: o.Entrypoint, Target: entrypointPath}
	args := append(o.runArguments(name, limits), "--mount", program.String(), "--entrypoint", entrypointPath, i.ref, entrypoint.Name)
	return append(args, i.command...)
}
