// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command images builds krmfn's container images from its static commands, without Docker and without a base image.
//
// Its arguments are the architectures to build for, each a directory with the commands beneath that of --binaries. The
// same commands, version and certificates give the same digests, on any machine. Images whose command has not been built
// are left out.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/tools/release/internal/image"
)

func main() {
	binaries := flag.String("binaries", "build/linux", "directory that has the commands in a directory for each architecture")
	caBundle := flag.String("ca-bundle", "", "PEM file of the certificates that images trust; none if empty")
	var out store
	flag.StringVar(&out.dir, "out", "build/images", "directory to write images to")
	flag.StringVar(&out.registry, "registry", "ghcr.io/krmfn", "prefix of the images' repositories")
	flag.StringVar(&out.version, "version", "dev", "tag of the images")
	flag.Parse()

	perArch := make(map[string]image.Sources)
	for _, arch := range flag.Args() {
		perArch[arch] = image.Sources{Binaries: filepath.Join(*binaries, arch), CABundle: *caBundle, Functions: functions.All()}
	}
	if err := run(perArch, out, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}
