// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/internal/process/programtest"
	"github.com/krmfn/krmfn/krmfn/internal/command"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/evaluation/function"
	imageref "github.com/krmfn/krmfn/services/images/reference"
)

// tool is what runs the cases as kpt.
type tool struct {
	title string
	// dir has the program, named kpt, with its fn named krmfn, too. It is looked for programs first.
	dir string
	// flags are added to a call that the case has no script for.
	flags []string
	// released says that it is a kpt, of a release that is older than what krmfn is compatible with.
	released bool
}

// krmfnTool is krmfn as kpt; isolated says that each function has a process of its own.
func krmfnTool(t *testing.T, isolated bool) tool {
	t.Helper()
	p := tool{title: "krmfn", dir: t.TempDir()}
	if isolated {
		p.title, p.flags = "krmfn --isolate", []string{"--isolate"}
	}
	p.link(t, testProgram(t), "kpt")
	p.link(t, testProgram(t), "krmfn")
	return p
}

// realKpt is kpt itself, which gets a Docker that has the curated functions.
func realKpt(t *testing.T) tool {
	t.Helper()
	p := tool{title: *kptProgram, dir: t.TempDir(), released: true}
	p.link(t, *kptProgram, "kpt")
	p.link(t, testProgram(t), "docker")
	script := "#!/bin/sh\nexec kpt fn \"$@\"\n"
	programtest.Write(t, filepath.Join(p.dir, "krmfn"), script)
	return p
}

func testProgram(t *testing.T) string {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return executable
}

func (p tool) link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(p.dir, name)); err != nil {
		t.Fatal(err)
	}
}

func (p tool) kpt() string { return filepath.Join(p.dir, "kpt") }

// command returns a command in a directory that finds the program as kpt.
func (p tool) command(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+p.dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return cmd
}

// runProgram runs the program that the test's program was started as. ok is false when it was started as none.
func runProgram() (code int, ok bool) {
	switch filepath.Base(os.Args[0]) {
	case "kpt", "krmfn":
		return runKrmfn(), true
	case "docker":
		return runDocker(os.Args[1:]), true
	}
	return 0, false
}

func runKrmfn() int {
	executable, err := os.Executable()
	if err != nil {
		panic(err)
	}
	// Without a container engine and a place for a cache of images, no registry is asked for one.
	environ := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "XDG_CACHE_HOME=")
	})
	return command.Run(context.Background(), program.Program{
		Executable: executable, Args: os.Args[1:], Environ: append(environ, "KRMFN_RUNTIME=builtin"), In: os.Stdin,
		Out: terminal.Stream{Writer: os.Stdout}, Err: terminal.Stream{Writer: os.Stderr},
	})
}

// runDocker is as much of Docker as kpt calls: it says that it is there, and runs the curated functions.
func runDocker(args []string) int {
	if args[0] != "run" {
		fmt.Println("25.0.0")
		return 0
	}
	image, rest := args[len(args)-1], []string(nil)
	if image == "--help" {
		image, rest = args[len(args)-2], []string{image}
	}
	f, ok := functions.Lookup(imageref.CatalogName(image))
	if !ok {
		fmt.Fprintf(os.Stderr, "Unable to find image '%s' locally\n", image)
		return 125
	}
	return function.Main(f, rest, os.Stdin, os.Stdout, os.Stderr)
}
