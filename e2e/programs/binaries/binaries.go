// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package binaries builds programs from the checkout that the tests are in: those under test, and the tests' own.
package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/krmfn/krmfn/e2e/programs/command"
)

// sources are the folders of the main packages.
var sources = map[string]string{
	FunctionRunner: "function-runner",
	WrapperServer:  "wrapper-server",
	PodJanitor:     "pod-janitor",
	TaskHandler:    "task-handler",
	Krmfn:          "krmfn",
	Functions:      "functions/cmd/functions",
	FunctionsLight: "functions/cmd/functions",
	Hostile:        "e2e/cmd/hostile",
	Probe:          "e2e/cmd/probe",
	InPod:          "e2e/bench/inpod",
	BoundedRunc:    "e2e/offline/bounded-runc",
	Pause:          "e2e/offline/nodeimage/recipe/pause",
}

// The names of the commands.
const (
	FunctionRunner = "function-runner"
	WrapperServer  = "wrapper-server"
	PodJanitor     = "pod-janitor"
	TaskHandler    = "task-handler"
	Krmfn          = "krmfn"
	// Functions serves all curated functions, FunctionsLight those that start fast.
	Functions      = "functions"
	FunctionsLight = "functions-light"
	// The tests' own.
	Hostile     = "hostile"
	Probe       = "probe"
	InPod       = "inpod"
	BoundedRunc = "bounded-runc"
	Pause       = "pause"
)

// Build builds commands into dir, the way releases are built.
func Build(ctx context.Context, dir string, names ...string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	for _, name := range names {
		tags := "grpcnotrace"
		if name == FunctionsLight {
			tags += ",light"
		}
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", "-s -w", "-o", filepath.Join(dir, name), ".")
		build.Dir = filepath.Join(root, sources[name])
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		if _, err := command.Output(build); err != nil {
			return fmt.Errorf("build %s: %w", name, err)
		}
	}
	return nil
}

// Built returns the file of a command that make build has built.
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

// Root returns the folder of the checkout.
func Root() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", errors.New("the tests were built without the paths of their sources, build them without -trimpath")
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(file)))), nil
}

// ExecConfig gives a function runner the curated functions as executables.
type ExecConfig struct {
	// File is the config file, Functions the directory of the executables.
	File, Functions string
}

// WriteExecConfig links the executables of the curated functions into a directory below dir and writes a config file beside them
// that has them answer to their own tags under both prefixes of the catalog. The multi-call executables are in bin.
func WriteExecConfig(ctx context.Context, bin, dir string) (ExecConfig, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return ExecConfig{}, err
	}
	c := ExecConfig{File: filepath.Join(dir, "config.yaml"), Functions: filepath.Join(dir, "functions")}
	if err := os.Mkdir(c.Functions, 0o750); err != nil {
		return ExecConfig{}, err
	}
	// The light one comes second and takes over what it has: it starts faster.
	for _, name := range []string{Functions, FunctionsLight} {
		if _, err := command.Run(ctx, filepath.Join(bin, name), "link", c.Functions); err != nil {
			return ExecConfig{}, fmt.Errorf("link the executables of functions: %w", err)
		}
	}
	text, err := command.Run(ctx, filepath.Join(bin, Functions), "config")
	if err != nil {
		return ExecConfig{}, fmt.Errorf("print the config file of functions: %w", err)
	}
	return c, os.WriteFile(c.File, []byte(text), 0o600)
}

// Flags are those that a function runner takes which runs these executables, and no pods.
func (c ExecConfig) Flags() []string {
	return []string{"--disable-runtimes=pod", "--strict-config", "--config=" + c.File, "--functions=" + c.Functions}
}
