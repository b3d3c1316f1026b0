// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command bounded-runc wraps runc on a host that lacks capabilities. runc fails to start a privileged container if the host cannot grant
// all capabilities, so the command removes the missing ones from the container's configuration and then executes runc.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/krmfn/krmfn/e2e/offline/engine"
)

func main() {
	err := run(os.Args[1:])
	fmt.Fprintln(os.Stderr, "bounded-runc:", err)
	os.Exit(1)
}

// run executes runc. It returns only on errors.
func run(args []string) error {
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	lacking, err := engine.Lacking()
	if err != nil {
		return err
	}
	for i, arg := range args[:max(0, len(args)-1)] {
		file, drop := args[i+1], engine.DropFromProcess
		switch arg {
		case "--bundle", "-b":
			file, drop = filepath.Join(file, "config.json"), engine.DropFromSpec
		case "--process", "-p":
		default:
			continue
		}
		if err := rewrite(file, lacking, drop); err != nil {
			return err
		}
	}
	return syscall.Exec(runc, append([]string{"runc"}, args...), os.Environ())
}

// rewrite changes a file that containerd wrote for one call of runc.
func rewrite(file string, lacking []string, drop func([]byte, []string) ([]byte, error)) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if data, err = drop(data, lacking); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
