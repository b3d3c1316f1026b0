// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
)

// renderFunctions are a pipeline's functions and what each has in its configMap.
var renderFunctions = [][2]string{{"set-namespace", "namespace: shop"}, {"set-labels", "team: shop"}, {"set-annotations", "owner: shop"}}

const catalog = "ghcr.io/kptdev/krm-functions-catalog/"

// BenchmarkRender renders packages of ConfigMaps, ten to a file, by command and from disk to disk: with the functions in
// the process, as executables, and in a function runner. Beside them the same executables run bare, one after the other, on
// lists in memory. It reports the medians as microseconds for each resource, which stay the same where time grows with the
// number of resources, and as multiples of the bare functions.
func BenchmarkRender(b *testing.B) {
	bin, runner := renderSetup(b)
	for _, packages := range []int{1, 20} {
		for _, resources := range []int{100, 1000, 5000, 10000} {
			b.Run(fmt.Sprintf("%d-resources/%d-packages", resources, packages), func(b *testing.B) {
				compare(b, resources, waysToRender(b, bin, runner, packages, resources))
			})
		}
	}
}

// way is a way to run a pipeline.
type way struct {
	name       string
	setup, run func() error
}

func waysToRender(b *testing.B, bin, runner string, packages, resources int) []way {
	b.Helper()
	images, execs := filepath.Join(b.TempDir(), "images"), filepath.Join(b.TempDir(), "execs")
	inputs := bareInputs(resources / packages)
	render := func(dir string, flags ...string) func() error {
		return func() error {
			return command(b, filepath.Join(bin, binaries.Krmfn), nil, append([]string{"render", dir, "--quiet"}, flags...)...)
		}
	}
	withImages := func() error {
		return writePackages(images, packages, resources, func(name string) string { return "image: " + name + ":v1" })
	}
	withExecs := func() error {
		return writePackages(execs, packages, resources, func(name string) string { return "exec: " + filepath.Join(bin, name) })
	}
	ways := []way{
		{name: "bare", setup: func() error { return nil }, run: func() error { return bare(b, bin, inputs, packages) }},
		{name: "builtin", setup: withImages, run: render(images, "--builtin")},
		{name: "runner", setup: withImages, run: render(images, "--runner", runner)},
	}
	// An executable may print no more than 6 MiB, of which a ConfigMap takes almost 700 bytes.
	if resources/packages <= 5000 {
		ways = append(ways, way{name: "exec", setup: withExecs, run: render(execs, "--allow-exec")})
	}
	return ways
}

// compare goes the ways in turns. The first is the one that the others are measured by.
func compare(b *testing.B, resources int, ways []way) {
	b.Helper()
	times := make([][]time.Duration, len(ways))
	for b.Loop() {
		for i, w := range ways {
			b.StopTimer()
			if err := w.setup(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			begin := time.Now()
			if err := w.run(); err != nil {
				b.Fatalf("%s: %v", w.name, err)
			}
			times[i] = append(times[i], time.Since(begin))
		}
	}
	var first float64
	for i, w := range ways {
		slices.Sort(times[i])
		median := float64(quantile(times[i], .5).Nanoseconds())
		b.ReportMetric(median/1000/float64(resources), w.name+"-us/resource")
		if i == 0 {
			first = median
			continue
		}
		b.ReportMetric(median/first, w.name+"-x-bare")
	}
}

// renderSetup builds the commands, with the functions linked beside them, and starts a function runner.
func renderSetup(b *testing.B) (bin, runner string) {
	b.Helper()
	bin = b.TempDir()
	ctx := context.WithoutCancel(b.Context()) // the runner is stopped in order
	if err := binaries.Build(ctx, bin, binaries.Krmfn, binaries.FunctionRunner, binaries.FunctionsLight); err != nil {
		b.Fatal(err)
	}
	var config strings.Builder
	config.WriteString("functions:\n")
	for _, f := range renderFunctions {
		if err := os.Symlink(binaries.FunctionsLight, filepath.Join(bin, f[0])); err != nil {
			b.Fatal(err)
		}
		fmt.Fprintf(&config, "- function: %[1]s\n  images: [%[2]s%[1]s:v1]\n", f[0], catalog)
	}
	if err := write(filepath.Join(bin, "config.yaml"), config.String()); err != nil {
		b.Fatal(err)
	}
	process, err := server.Start(ctx, filepath.Join(bin, binaries.FunctionRunner), filepath.Join(bin, "log"),
		"--disable-runtimes=pod", "--strict-config", "--config="+filepath.Join(bin, "config.yaml"), "--functions="+bin)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := process.Stop(); err != nil {
			b.Error(err)
		}
	})
	return bin, process.Addr
}

func command(b *testing.B, executable string, stdin []byte, args ...string) error {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), executable, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%.1000s", executable, err, out)
	}
	return nil
}

// bare runs the functions of as many packages.
func bare(b *testing.B, bin string, inputs [][]byte, packages int) error {
	b.Helper()
	for range packages {
		for i, f := range renderFunctions {
			if err := command(b, filepath.Join(bin, f[0]), inputs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
