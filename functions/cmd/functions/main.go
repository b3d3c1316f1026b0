// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command functions serves krmfn's curated KRM functions, each under its own name.
//
// Called through a link whose base name is a function's, it is that function: it reads a ResourceList from stdin and
// writes one to stdout. Called by its own name:
//
//	functions NAME       is the function of that name
//	functions list       lists the functions and their versions
//	functions link DIR   makes a link to itself for every function, as a function runner's --functions directory has them
//	functions describe   prints the functions as JSON, by which a task handler knows them
//	functions config     prints the config file by which a function runner evaluates them
//
// Built with the tag "light" it lacks the functions whose libraries take long to start, and starts in half the time.
package main

import (
	"os"

	"github.com/krmfn/krmfn/functions"
)

func main() {
	os.Exit(functions.Command(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
