// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine ensures that a Docker engine runs on this machine.
package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/krmfn/krmfn/e2e/offline/debian"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/e2e/programs/progress"
	"github.com/krmfn/krmfn/e2e/programs/server"
)

// startup is the time limit for a started engine to respond.
const startup = time.Minute

// Starter starts an engine if none runs.
type Starter struct {
	// Cache is a directory for the engine's runtime and log.
	Cache    string
	Progress *progress.Printer
}

// Ensure returns when an engine responds. If none does, Ensure installs Debian's engine and starts it, which needs root. The engine
// outlives this process and runs until the machine or the surrounding container stops.
func (s Starter) Ensure(ctx context.Context) error {
	if Answers(ctx) == nil {
		return nil
	}
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return fmt.Errorf("no Docker engine answers at DOCKER_HOST=%s: start it, or unset the variable to use this machine's", host)
	}
	if os.Geteuid() != 0 {
		return errors.New("no Docker engine answers, and only root can start one: start it, or check that you may use its socket")
	}
	if err := debian.Install(ctx, s.Progress, "dockerd", "docker.io", "iptables"); err != nil {
		return err
	}
	return s.start(ctx)
}

func (s Starter) start(ctx context.Context) error {
	if err := os.MkdirAll(s.Cache, 0o755); err != nil {
		return err
	}
	args, err := s.arguments(ctx)
	if err != nil {
		return err
	}
	if err := removeStale(); err != nil {
		return err
	}
	log := filepath.Join(s.Cache, "dockerd.log")
	s.Progress.Printf("no Docker engine answers: starting dockerd, which keeps running; its log is %s", log)
	return server.Detached{Command: append([]string{"dockerd"}, args...), Log: log, Answers: Answers, Startup: startup}.Start(ctx)
}

// arguments returns flags that make the engine use the runtime bounded-runc if the host lacks capabilities.
func (s Starter) arguments(ctx context.Context) ([]string, error) {
	lacking, err := Lacking()
	if err != nil || len(lacking) == 0 {
		return nil, err
	}
	s.Progress.Printf("this machine lacks %v: containers are not given them", lacking)
	if err := binaries.Build(ctx, s.Cache, binaries.BoundedRunc); err != nil {
		return nil, err
	}
	// The runtime's name in the engine is the name of its program.
	const name = binaries.BoundedRunc
	return []string{"--add-runtime=" + name + "=" + filepath.Join(s.Cache, name), "--default-runtime=" + name}, nil
}

// removeStale removes PID files of engines that no longer run. Another process may have the same PID, and a new engine would refuse to
// start.
func removeStale() error {
	for file, program := range map[string]string{
		"/run/docker.pid":                       "dockerd",
		"/run/docker/containerd/containerd.pid": "containerd",
	} {
		pid, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		name, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "comm"))
		if err == nil && strings.TrimSpace(string(name)) == program {
			continue
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// Answers returns nil if an engine responds.
func Answers(ctx context.Context) error {
	_, err := command.Run(ctx, "docker", "version", "--format", "{{.Server.Version}}")
	return err
}
