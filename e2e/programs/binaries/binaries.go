// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package binaries builds the commands under test from the checkout that the tests are in.
package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// The commands and the folders of their main packages.
var sources = map[string]string{
	FunctionRunner: "function-runner",
	WrapperServer:  "wrapper-server",
	PodJanitor:     "pod-janitor",
	TaskHandler:    "task-handler",
	Krmfn:          "krmfn",
	Functions:      "functions/cmd/functions",
	FunctionsLight: "functions/cmd/functions",
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
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", tags, "-ldflags", "-s -w", "-o", filepath.Join(dir, name), ".")
		build.Dir = filepath.Join(root, sources[name])
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// Root returns the folder of the checkout.
func Root() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", errors.New("the tests were built without the paths of their sources, build them without -trimpath")
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(file)))), nil
}
