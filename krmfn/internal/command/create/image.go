// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/images/build"
)

// imageFlags are the flags of krmfn create image.
type imageFlags struct {
	to        string
	base      string
	platforms []string
	labels    map[string]string
}

func newImage(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image [DIR | PROGRAM...]",
		Short: "Build the image of a function, without Docker",
		Long: `Build the image of a function without a container engine, from the directory of a Go
program (default .) or from Linux executables, one for each platform. The program is the
entrypoint and runs as nobody. The same program, base and labels give the same digest.

Prints the image: REGISTRY/NAME:TAG@DIGEST, oci:DIR or docker-archive:FILE. Pushes with
the credentials of Docker's or Podman's configuration.

The label krmfn.dev/worker=true lets function runners use one process for many calls.
krmfn.dev/deterministic=true lets them cache answers.

` + failure.Help,
		Example: `  krmfn create image -t oci:image
  krmfn create image ./add-owner -t registry.example.org/team/add-owner:v0.1.0 \
    --platform linux/amd64,linux/arm64 --label krmfn.dev/worker=true`,
		Args: cobra.ArbitraryArgs,
	}
	var f imageFlags
	set := cmd.Flags()
	set.StringVarP(&f.to, "to", "t", "", "where to write the image: REGISTRY/NAME:TAG, oci:DIR or docker-archive:FILE (required)")
	set.StringSliceVar(&f.platforms, "platform", nil, "platforms to build the Go program for, such as linux/arm64; the default is this machine's architecture")
	set.StringVar(&f.base, "base", "", "base image; the default is none, because a static program needs no other files")
	set.StringToStringVar(&f.labels, "label", nil, "labels of the image, as KEY=VALUE")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		to, options, platforms, err := f.validate(cmd.Context())
		if err != nil {
			return failure.Usage(err)
		}
		programs, err := f.programs(cmd.Context(), args, platforms)
		if err != nil {
			return err
		}
		images := make([]v1.Image, 0, len(programs))
		for _, program := range programs {
			image, err := build.Image(program, options)
			if err != nil {
				return err
			}
			images = append(images, image)
		}
		written, err := to.Write(cmd.Context(), images)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.Out, written)
		return err
	}
	return cmd
}

func (f *imageFlags) validate(ctx context.Context) (to build.Destination, options build.Options, platforms []v1.Platform, err error) {
	if f.to == "" {
		return to, options, nil, errors.New("the destination is missing: set --to to REGISTRY/NAME:TAG, oci:DIR or docker-archive:FILE")
	}
	if to, err = build.ParseDestination(f.to); err != nil {
		return to, options, nil, fmt.Errorf("--to: %w", err)
	}
	options.Labels = f.labels
	if err := options.Validate(); err != nil {
		return to, options, nil, fmt.Errorf("--label: %w", err)
	}
	if f.base != "" {
		if options.Base, err = build.Pulled(ctx, f.base); err != nil {
			return to, options, nil, fmt.Errorf("--base: %w", err)
		}
	}
	for _, text := range f.platforms {
		platform, err := v1.ParsePlatform(text)
		if err != nil || platform.OS != "linux" || platform.Architecture == "" || platform.Variant != "" || platform.OSVersion != "" {
			return to, options, nil, fmt.Errorf("--platform is %q, want linux/ARCHITECTURE, as in linux/arm64", text)
		}
		if slices.ContainsFunc(platforms, platform.Equals) {
			return to, options, nil, fmt.Errorf("--platform names %s twice", text)
		}
		platforms = append(platforms, *platform)
	}
	return to, options, platforms, nil
}

// programs compiles the program of a directory for each platform, or reads those that were built.
func (f *imageFlags) programs(ctx context.Context, args []string, platforms []v1.Platform) ([]build.Program, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	if info, err := os.Stat(args[0]); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return f.read(args)
	}
	if len(args) > 1 {
		return nil, failure.Usage(fmt.Errorf("%s is a directory: name one directory, or only programs", args[0]))
	}
	if len(platforms) == 0 {
		platforms = []v1.Platform{{OS: "linux", Architecture: goruntime.GOARCH}}
	}
	var programs []build.Program
	for _, platform := range platforms {
		program, err := build.Compile(ctx, args[0], platform)
		if err != nil {
			return nil, err
		}
		programs = append(programs, program)
	}
	return programs, nil
}

func (f *imageFlags) read(files []string) ([]build.Program, error) {
	if len(f.platforms) > 0 {
		return nil, failure.Usage(errors.New("--platform needs a directory: programs are already built for a platform"))
	}
	var programs []build.Program
	for _, file := range files {
		program, err := build.ReadProgram(file)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(programs, func(other build.Program) bool { return other.Platform.Equals(program.Platform) }); i >= 0 {
			return nil, failure.Usage(fmt.Errorf("%s and %s are both for %s: name one program for each platform", programs[i].File, file, program.Platform))
		}
		programs = append(programs, program)
	}
	return programs, nil
}
