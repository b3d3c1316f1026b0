// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command functions runs krmfn's curated KRM functions.
//
// Called through a link with a function's name, it runs that function: it reads a ResourceList from stdin and writes one to
// stdout. Called by its own name:
//
//	functions NAME       runs the function NAME
//	functions list       lists the functions and their versions
//	functions link DIR   creates links to this program in DIR, one per function, for a function runner's --functions
//	functions describe   prints the functions as JSON, for a task handler
//	functions config     prints a config file that makes a function runner evaluate the functions
//
// The build tag "light" leaves out functions with libraries that are slow to initialize, which halves the start time.
package main

import (
	"os"

	"github.com/krmfn/krmfn/functions"
)

func main() {
	os.Exit(functions.Command(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
