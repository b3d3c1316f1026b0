// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package binaries builds programs from the current checkout: the programs under test, and helpers of the tests.
package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/e2e/programs/filelock"
)

// targets maps commands to their Makefile targets, without the prefix "build/".
var targets = map[string]string{
	FunctionRunner: "function-runner",
	WrapperServer:  "wrapper-server",
	PodJanitor:     "pod-janitor",
	TaskHandler:    "task-handler",
	Krmfn:          "krmfn",
	Functions:      "functions/cmd/functions",
	FunctionsLight: "functions-light",
}

// sources maps helper programs of the tests to their directories.
var sources = map[string]string{
	Hostile:     "e2e/cmd/hostile",
	Probe:       "e2e/cmd/probe",
	BoundedRunc: "e2e/offline/bounded-runc",
	Pause:       "e2e/offline/nodeimage/recipe/pause",
}

// Names of the programs.
const (
	FunctionRunner = "function-runner"
	WrapperServer  = "wrapper-server"
	PodJanitor     = "pod-janitor"
	TaskHandler    = "task-handler"
	Krmfn          = "krmfn"
	// Functions contains all curated functions. FunctionsLight contains the functions that start fast.
	Functions      = "functions"
	FunctionsLight = "functions-light"
	// Helper programs of the tests.
	Hostile     = "hostile"
	Probe       = "probe"
	BoundedRunc = "bounded-runc"
	Pause       = "pause"
)

// Build puts programs into dir. It builds commands with make, into the checkout's directory bin, which all tests share.
func Build(ctx context.Context, dir string, names ...string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	var commands []string
	for _, name := range names {
		if _, ok := targets[name]; ok {
			commands = append(commands, name)
			continue
		}
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", filepath.Join(dir, name), ".")
		build.Dir = filepath.Join(root, sources[name])
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		if _, err := command.Output(build); err != nil {
			return fmt.Errorf("build %s: %w", name, err)
		}
	}
	return buildCommands(ctx, root, dir, commands)
}

// buildCommands builds commands and links them into dir. A lock keeps other test processes from replacing a command during linking.
func buildCommands(ctx context.Context, root, dir string, names []string) (err error) {
	if len(names) == 0 {
		return nil
	}
	bin := filepath.Join(root, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	lock, err := filelock.Wait(ctx, filepath.Join(bin, ".lock"), func(*filelock.HeldError) {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	args := []string{"--no-print-directory", "-C", root}
	for _, name := range names {
		args = append(args, "build/"+targets[name])
	}
	if _, err := command.Run(ctx, "make", args...); err != nil {
		return err
	}
	for _, name := range names {
		if err := link(filepath.Join(bin, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Built returns the path of a command that make build has built.
func Built(name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	file := filepath.Join(root, "bin", name)
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("%w: try make build", err)
	}
	return file, nil
}

// link creates a file that does not change when the go command replaces the original: a hard link, or a copy if dir is on another file
// system.
func link(from, to string) error {
	if err := os.Link(from, to); !errors.Is(err, syscall.EXDEV) {
		return err
	}
	program, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, program, 0o755)
}

// Root returns the root directory of the checkout that contains the working directory.
func Root() (string, error) {
	working, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := working; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%s is not in a checkout of krmfn: run the program in one", working)
}

// ExecConfig makes a function runner run the curated functions as executables.
type ExecConfig struct {
	// File is the path of the config file. Functions is the directory of the executables.
	File, Functions string
}

// WriteExecConfig creates a directory with links to the executables of the curated functions, and a config file that maps each function's
// own tags, under both prefixes of the catalog, to its executable. The programs are in the directory bin: first Functions, then programs
// whose functions replace functions of the earlier ones.
func WriteExecConfig(ctx context.Context, bin, dir string, programs ...string) (ExecConfig, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return ExecConfig{}, err
	}
	c := ExecConfig{File: filepath.Join(dir, "config.yaml"), Functions: filepath.Join(dir, "functions")}
	if err := os.Mkdir(c.Functions, 0o750); err != nil {
		return ExecConfig{}, err
	}
	for _, name := range programs {
		if _, err := command.Run(ctx, filepath.Join(bin, name), "link", c.Functions); err != nil {
			return ExecConfig{}, fmt.Errorf("link the executables of functions: %w", err)
		}
	}
	text, err := command.Run(ctx, filepath.Join(bin, programs[0]), "config")
	if err != nil {
		return ExecConfig{}, fmt.Errorf("print the config file of functions: %w", err)
	}
	return c, os.WriteFile(c.File, []byte(text), 0o600)
}

// Flags returns the flags of a function runner that runs these executables and no pods.
func (c ExecConfig) Flags() []string {
	return []string{"--disable-runtimes=pod", "--strict-config", "--config=" + c.File, "--functions=" + c.Functions}
}
