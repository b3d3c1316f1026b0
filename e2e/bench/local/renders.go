// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// renders is the number of measured renders. kpt, which takes far longer, renders once.
const renders = 5

// measureRenders measures renders of packages on disk, including writing the files. It runs krmfn without flags that change how it renders,
// and kpt with the same functions as executables. Each render has a directory of its own, and no directory is deleted before the last
// render, because some file systems create files slowly after many files were deleted.
func (b *bench) measureRenders(ctx context.Context, dir string) error {
	if err := spread(dir); err != nil {
		return err
	}
	for _, f := range pipeline {
		if err := os.Symlink(b.runner.executable, filepath.Join(b.runner.dir, f[0])); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	kpt, err := command.Run(ctx, b.kpt, "version")
	if err != nil {
		b.Note("There was no kpt to compare renders with.")
		b.kpt = ""
	} else {
		b.Facts = append(b.Facts, report.Fact{Name: "kpt", Value: strings.TrimSpace(kpt)})
	}
	count := 0
	next := func() string {
		count++
		return filepath.Join(dir, strconv.Itoa(count))
	}
	for _, r := range []struct {
		what                string
		packages, resources int
		ratio, seconds, mb  *report.Goal
	}{
		{"render of 10,000 ConfigMaps, 3 functions", 1, 10000, &report.Goal{Of: report.Ratio, Bound: 1. / 40}, nil, &report.Goal{Bound: 400}},
		{"render of 501 packages, 5,000 ConfigMaps", 500, 5000, nil, &report.Goal{Bound: .8}, nil},
	} {
		var peer rendered
		if b.kpt != "" {
			root := next()
			if peer, err = b.render(ctx, root, r.packages, r.resources, byExecutable(b.runner.dir), b.kpt, "fn", "render", root, "--allow-exec"); err != nil {
				return err
			}
		}
		var times, memory []float64
		for range renders {
			root := next()
			one, err := b.render(ctx, root, r.packages, r.resources, byImage, filepath.Join(b.bin, binaries.Krmfn), "render", root, "--quiet")
			if err != nil {
				return err
			}
			times, memory = append(times, one.seconds), append(memory, one.megabytes)
		}
		goal := r.ratio
		if r.seconds != nil || b.kpt == "" {
			goal = r.seconds
		}
		const section = "renders, beside kpt with functions as executables"
		b.Add(report.Row{Section: section, What: r.what, Measured: report.Median(times), Beside: peer.seconds, Unit: "s", Goal: goal},
			report.Row{Section: section, What: r.what + ": memory", Measured: report.Median(memory), Beside: peer.megabytes, Unit: "MB", Goal: r.mb})
	}
	b.Note("Renders: krmfn %d times, each on packages of its own, and kpt once before. Memory is the greatest resident set of "+
		"the command itself, without the processes of kpt's functions. The packages are far apart on the disk: ext4 without a journal "+
		"is slow to make files near many that were deleted minutes before, so that a second render of a thousand files may take twice as long.", renders)
	return nil
}

// rendered holds the duration and the peak memory of a render.
type rendered struct{ seconds, megabytes float64 }

// render writes packages and runs a command that renders them.
func (b *bench) render(ctx context.Context, dir string, packages, resources int, named func(string) string, name string, args ...string) (rendered, error) {
	if err := writePackages(dir, packages, resources, named); err != nil {
		return rendered{}, err
	}
	cmd := exec.CommandContext(ctx, name, args...)
	begin := time.Now()
	if _, err := command.Output(cmd); err != nil {
		return rendered{}, err
	}
	took := time.Since(begin)
	text, err := os.ReadFile(filepath.Join(packageDir(dir, packages, 0), "configs", "file-0.yaml"))
	if err != nil {
		return rendered{}, err
	}
	if !bytes.Contains(text, []byte("team: shop")) {
		return rendered{}, fmt.Errorf("%s has not rendered the package", filepath.Base(name))
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return rendered{took.Seconds(), float64(usage.Maxrss) * 1024 / 1e6}, nil
}
