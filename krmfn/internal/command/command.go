// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package command is krmfn's command line. Each command has a package below; program, runner, output and failure are what
// they share.
package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/krmfn/internal/command/cache"
	"github.com/krmfn/krmfn/krmfn/internal/command/completion"
	"github.com/krmfn/krmfn/krmfn/internal/command/create"
	"github.com/krmfn/krmfn/krmfn/internal/command/doc"
	"github.com/krmfn/krmfn/krmfn/internal/command/doctor"
	"github.com/krmfn/krmfn/krmfn/internal/command/eval"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/functions"
	"github.com/krmfn/krmfn/krmfn/internal/command/images"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/render"
	"github.com/krmfn/krmfn/krmfn/internal/command/sink"
	"github.com/krmfn/krmfn/krmfn/internal/command/source"
	"github.com/krmfn/krmfn/krmfn/internal/command/top"
	"github.com/krmfn/krmfn/krmfn/internal/progress"
)

// Run runs the command that the program's arguments name and returns the exit code. It writes errors to p.Err, in kpt's
// words. When ctx ends, the command ends soon after and writes no more files.
func Run(ctx context.Context, p program.Program) int {
	understood := false
	p.Notices = &progress.Notices{}
	root := newRoot(&p, &understood) //nolint:contextcheck // commands get the context when they are executed
	// Without any, cobra would look for those of the process.
	root.SetArgs(append([]string{}, program.Spelled(p.Args)...))
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !understood {
		err = failure.Usage(misunderstood(cmd, err))
	}
	code := failure.Code(ctx, err)
	if err != nil {
		failure.Print(p.Err, code, err, p.StackTrace())
	}
	return code
}

// newRoot returns the command with all others below. understood is set once the command line is.
func newRoot(p *program.Program, understood *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "krmfn",
		Short: "Evaluate KRM functions and render packages with them",
		Long: `krmfn evaluates KRM functions and renders kpt packages with them.

The curated functions of the KRM functions catalog are built in and need neither a
cluster nor containers. They answer to every tag; a warning names each tag of another
version. They run in the command's own process. With --isolate, each runs in its own
process, so that a function that crashes, hangs or uses too much memory fails alone.

All other images, and images with a digest, run in containers if docker, podman or
nerdctl is installed and answers: one container for all calls of a function. Otherwise
they run in a sandbox, which needs Linux but no container engine. Both give functions no
network and no access to this machine's files. The sandbox pulls images with the
credentials of Docker's or Podman's configuration and keeps them in a cache. oci:DIR and
docker-archive:FILE name images in files. With --runner, a function runner evaluates all
functions, in executables or in pods. --runtime changes what runs functions.

Name a function runner by its address, host:port. If its port is not reachable from this
machine, name its Service: kube:[CONTEXT/]NAMESPACE/SERVICE[:PORT], for example
--runner kube:porch-system/function-runner. The command then connects through the API
server with your kubeconfig ($KUBECONFIG, --kubeconfig or ~/.kube/config), like kubectl
port-forward, and opens no port on this machine. You need permission to get services,
list endpointslices and create pods/portforward in the namespace. When a pod of the
Service ends, the next call goes to another one.

` + failure.Help,
		Version:       newVersionDocument().line(),
		SilenceErrors: true,
		// Suggestions take several lines; an error has one. See misunderstood.
		DisableSuggestions: true,
		SilenceUsage:       true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if err := p.Colour(); err != nil {
				return err
			}
			*understood = true
			return nil
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version, as krmfn version does")
	p.AddFlags(root.PersistentFlags())
	root.AddCommand(packageCommands(p)...)
	root.AddCommand(functions.Command(p), top.Command(p), images.Command(p), create.Command(p), cache.Command(p), doctor.Command(p), newVersion(p), newGroup(p))
	completion.Add(root)
	return root
}

// newGroup returns the command that makes a script for kpt run with krmfn in its place.
func newGroup(p *program.Program) *cobra.Command {
	group := &cobra.Command{
		Use:   "fn",
		Short: "The commands of kpt fn: krmfn fn render is krmfn render",
		Long: `The commands of kpt fn, so that scripts for kpt work with krmfn.

All flags of kpt fn are accepted. Log flags (-v N, --logtostderr, --vmodule and so on) have
no effect, because krmfn writes no log. --kubeconfig applies only to --runner
kube:NAMESPACE/SERVICE. --allow-alpha-wasm is refused, because krmfn does not run
WebAssembly functions.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.AddCommand(packageCommands(p)...)
	return group
}

// packageCommands returns the commands that krmfn and kpt fn both have.
func packageCommands(p *program.Program) []*cobra.Command {
	return []*cobra.Command{render.Command(p), eval.Command(p), source.Command(p), sink.Command(p), doc.Command(p)}
}
