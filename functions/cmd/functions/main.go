// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command functions runs krmfn's curated KRM functions.
//
// Started through a link that is named after a function, it runs that function: it reads a ResourceList from standard input and writes one
// to standard output. functions --help describes its commands.
//
// The build tag "light" leaves out functions with libraries that are slow to initialise, which halves the start time.
package main

import (
	"os"

	"github.com/krmfn/krmfn/functions"
)

func main() {
	os.Exit(functions.Command(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
