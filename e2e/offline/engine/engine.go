// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine sees to it that a Docker engine answers on this machine.
package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/e2e/offline/debian"
	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/e2e/programs/progress"
)

const (
	// runtimeName is what the engine calls the OCI runtime that asks for no more capabilities than the host has.
	runtimeName = "bounded-runc"
	// startup is how long the engine may take to answer, once it has been started.
	startup = time.Minute
)

// Starter starts an engine where there is none.
type Starter struct {
	// Cache is a directory for the engine's runtime and log.
	Cache string
	// Module is the directory of the Go module that this package is in.
	Module   string
	Progress *progress.Printer
}

// Ensure returns when an engine answers. If none does, it installs Debian's and starts it, which needs root. That engine
// outlives this process and ends with the machine or the container that it runs in.
func (s Starter) Ensure(ctx context.Context) error {
	if Answers(ctx) {
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
	path := filepath.Join(s.Cache, "dockerd.log")
	s.Progress.Printf("no Docker engine answers: starting dockerd, which keeps running; its log is %s", path)
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the engine has its own
	server := exec.Command("dockerd", args...)
	server.Stdout, server.Stderr = log, log
	// In a session of its own, it does not get what the terminal sends.
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start the Docker engine: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }() // It ends with the engine, or this process.
	return s.await(ctx, ended, path)
}

// await returns when the engine answers.
func (s Starter) await(ctx context.Context, ended <-chan error, log string) error {
	ctx, cancel := context.WithTimeout(ctx, startup)
	defer cancel()
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for !Answers(ctx) {
		select {
		case err := <-ended:
			return fmt.Errorf("the Docker engine ended (%w): see %s", err, log)
		case <-ctx.Done():
			return fmt.Errorf("the Docker engine does not answer: %w: see %s", ctx.Err(), log)
		case <-poll.C:
		}
	}
	return nil
}

// arguments has the engine use a runtime that fits the host, if the host lacks capabilities.
func (s Starter) arguments(ctx context.Context) ([]string, error) {
	lacking, err := Lacking()
	if err != nil || len(lacking) == 0 {
		return nil, err
	}
	path := filepath.Join(s.Cache, runtimeName)
	s.Progress.Printf("this machine lacks %v: containers are not given them", lacking)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", path, "./offline/"+runtimeName)
	build.Dir = s.Module
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if _, err := command.Output(build); err != nil {
		return nil, err
	}
	return []string{"--add-runtime=" + runtimeName + "=" + path, "--default-runtime=" + runtimeName}, nil
}

// removeStale removes the files that say which process an engine is, where they outlived it: another process may have got
// its number since, and no engine would start beside that.
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

// Answers tells whether an engine does.
func Answers(ctx context.Context) bool {
	_, err := command.Run(ctx, "docker", "version", "--format", "{{.Server.Version}}")
	return err == nil
}
