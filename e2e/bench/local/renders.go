// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/e2e/bench/measure"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// renders measures renders of packages on disk, including writing the files. Each render has a directory of its own, and no directory is
// deleted before the last render, because some file systems create files slowly after many files were deleted.
type renders struct {
	*measure.Run
	// dir is the directory of the packages.
	dir   string
	count int
}

// program is a command that renders packages.
type program struct {
	name string
	// write writes the packages of a measurement. args returns the command line that renders them.
	write func(root string) error
	args  func(root string) []string
}

// measure runs krmfn without flags that change how it renders, and kpt with the same functions as executables. Both get the same number of
// rounds.
func (r *renders) measure(ctx context.Context) error {
	if err := spread(r.dir); err != nil {
		return err
	}
	functions := filepath.Join(r.dir, "functions")
	if err := os.Mkdir(functions, 0o750); err != nil {
		return err
	}
	for _, f := range pipeline {
		if err := os.Symlink(filepath.Join(r.Bin, binaries.FunctionsLight), filepath.Join(functions, f[0])); err != nil {
			return err
		}
	}
	krmfn := func(root string) []string {
		return []string{filepath.Join(r.Bin, binaries.Krmfn), "render", root, "--quiet"}
	}
	kpt := func(root string) []string { return []string{"kpt", "fn", "render", root, "--allow-exec"} }
	version, kptErr := command.Run(ctx, "kpt", "version")
	if kptErr != nil {
		version = "not on the PATH, so that renders are not compared with it"
	}
	r.Facts = append(r.Facts, report.Fact{Name: "kpt", Value: strings.TrimSpace(version)})
	for _, p := range []struct {
		what                string
		packages, resources int
	}{{"10,000 ConfigMaps", 1, 10000}, {"65 packages", 65, 650}} {
		write := func(named func(string) string) func(string) error {
			return func(root string) error { return writePackages(root, p.packages, p.resources, named) }
		}
		programs := []program{{binaries.Krmfn, write(byImage), krmfn}, {"kpt", write(byExecutable(functions)), kpt}}
		if kptErr != nil {
			programs = programs[:1]
		}
		if err := r.compare(ctx, p.what, filepath.Join(packageDir("", p.packages, 0), "configs", "file-0.yaml"), programs...); err != nil {
			return err
		}
	}
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	example := func(to string) error { return os.CopyFS(to, os.DirFS(filepath.Join(root, "examples", "web-shop"))) }
	return r.compare(ctx, "web-shop", "storefront.yaml", program{binaries.Krmfn, example, krmfn})
}

// rendered is the name of a row. The value is "time", "CPU" or "memory".
func rendered(what, program, value string) string {
	return fmt.Sprintf("render, %s, %s: %s", what, program, value)
}

// compare renders with each program in each round. The file is one that a render changes.
func (r *renders) compare(ctx context.Context, what, file string, programs ...program) error {
	values := make(map[string][]float64)
	for range r.Rounds {
		for _, p := range programs {
			used, err := r.render(ctx, p, file)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", what, p.name, err)
			}
			for value, number := range used {
				values[rendered(what, p.name, value)] = append(values[rendered(what, p.name, value)], number)
			}
		}
	}
	for _, p := range programs {
		for _, value := range []struct{ name, unit string }{{"time", "s"}, {"CPU", "s"}, {"memory", "MB"}} {
			name := rendered(what, p.name, value.name)
			r.Add(report.Samples(name, value.unit, values[name]...))
		}
	}
	return nil
}

// render writes packages, renders them, and returns time and CPU time in seconds and the peak memory in megabytes. The memory excludes
// processes of functions.
func (r *renders) render(ctx context.Context, p program, file string) (map[string]float64, error) {
	r.count++
	root := filepath.Join(r.dir, strconv.Itoa(r.count))
	if err := p.write(root); err != nil {
		return nil, err
	}
	before, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	args := p.args(root)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	begin := time.Now()
	if _, err := command.Output(cmd); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	after, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	if bytes.Equal(before, after) {
		return nil, fmt.Errorf("%s has not rendered the package", p.name)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return map[string]float64{"time": took.Seconds(), "CPU": cpu.Seconds(), "memory": float64(usage.Maxrss) * 1024 / 1e6}, nil
}
