// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package embedded runs a function runner inside of the command, for those who have none: it evaluates the curated
// functions, each in a process of its own, and is reached over gRPC as any other function runner is.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/function-runner/runner"
	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Config is what an embedded runner needs to know.
type Config struct {
	// Executable is the absolute path of a program that acts as the curated function by whose name it is started.
	Executable string
	// ImagePrefix is what short image names are resolved with.
	ImagePrefix string
	// StrictVersions makes functions answer only to the tags of their own versions, not to any.
	StrictVersions bool
	// MaxMessageSize is the most bytes of one message, in both directions.
	MaxMessageSize int
	// MaxListSize is the most bytes of a ResourceList that comes in several messages.
	MaxListSize int64
	// Environ is what functions may inherit from; they get only what is harmless in it.
	Environ []string
}

// Runner is a function runner that serves until Close.
type Runner struct {
	dir    string
	cancel context.CancelFunc
	served chan error
}

// socketName is the socket in the runner's directory, which nobody else can enter.
const socketName = "runner.sock"

// maxSocketPath is the maximum length of a socket's path that all systems support.
const maxSocketPath = 103

// Start starts a runner. It outlives ctx, so that calls end before it does; the caller must Close it. Start returns when
// the runner listens.
func Start(ctx context.Context, c Config) (_ *Runner, err error) {
	dir, err := os.MkdirTemp("", "krmfn-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the embedded function runner: %w", err)
	}
	r := &Runner{dir: dir, served: make(chan error, 1)}
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			r.cancel()
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	list, err := install(dir, c)
	if err != nil {
		return nil, err
	}
	listener, err := r.listen(ctx)
	if err != nil {
		return nil, err
	}
	server, err := runner.New(ctx, runner.Config{
		Options: c.options(), Functions: list, Environ: c.Environ, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the embedded function runner: %w", err), listener.Close())
	}
	go func() { r.served <- server.Serve(ctx, listener) }()
	return r, nil
}

func (c Config) options() options.Options {
	o := options.Default()
	o.DisableRuntimes = options.RuntimePod
	o.Exec = options.Exec{}
	o.DefaultImagePrefix = c.ImagePrefix
	o.Limits.MaxMessageSize = c.MaxMessageSize
	o.Limits.MaxListSize = c.MaxListSize
	// Whoever calls is gone by then.
	o.DrainTimeout, o.ShutdownDelay = time.Second, 0
	return o
}

func (r *Runner) listen(ctx context.Context) (net.Listener, error) {
	socket := filepath.Join(r.dir, socketName)
	if len(socket) > maxSocketPath {
		return nil, fmt.Errorf("the path of the embedded function runner's socket is too long (%s): set TMPDIR to a shorter directory", socket)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("start the embedded function runner: %w", err)
	}
	return listener, nil
}

// Target returns where the runner is reached, in gRPC's syntax.
func (r *Runner) Target() string { return "unix://" + filepath.Join(r.dir, socketName) }

// Close stops the runner, and returns when it and its files are gone.
func (r *Runner) Close() error {
	r.cancel()
	return errors.Join(<-r.served, os.RemoveAll(r.dir))
}

// Origin marks implementations of curated functions in reports.
const Origin = "(curated)"

// install gives every curated function an executable in dir: a link of its name to one program.
func install(dir string, c Config) ([]runner.Executable, error) {
	all := functions.All()
	list := make([]runner.Executable, 0, len(all))
	for _, f := range all {
		link := filepath.Join(dir, f.Name)
		if err := os.Symlink(c.Executable, link); err != nil {
			return nil, fmt.Errorf("make an executable of function %s: %w", f.Name, err)
		}
		list = append(list, runner.Executable{
			Name: f.Name, Path: link, Implementation: f.Implementation() + " " + Origin, Version: f.Version, AnyTag: !c.StrictVersions,
			Images: f.Images(c.StrictVersions, "", reference.CatalogPrefix, reference.FormerCatalogPrefix),
		})
	}
	return list, nil
}

// RunFunction acts as the curated function that the program was started as, by args[0], and returns its exit code. ok is
// false when the program was not started as a function.
func RunFunction(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	f, ok := functions.Lookup(filepath.Base(args[0]))
	if !ok {
		return 0, false
	}
	return function.Main(f, args[1:], stdin, stdout, stderr), true
}
