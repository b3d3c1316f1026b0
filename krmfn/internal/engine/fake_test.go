// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/krmfn/internal/engine/entrypoint"
)

// Depending on its name, the test binary acts as an engine or as a function.
func TestMain(m *testing.M) {
	switch name := filepath.Base(os.Args[0]); name {
	case "docker", "podman", "nerdctl":
		// os.Exit would run the race detector's exit code, which takes a second.
		syscall.Exit(fakeEngine{os.Getenv("FAKE_ENGINE"), name}.run(os.Args[1:]))
	case "fn":
		syscall.Exit(fakeFunction())
	}
	goleak.VerifyTestMain(m)
}

// fakeFunction returns its input. Standard error contains its arguments and the variable FOO. The input may contain commands.
func fakeFunction() int {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 1
	}
	fmt.Fprintln(os.Stderr, "hello from", strings.Join(os.Args[1:], " "), os.Getenv("FOO"))
	if strings.Contains(string(input), "hang") {
		time.Sleep(time.Minute)
	}
	if strings.Contains(string(input), "fail") {
		return 3
	}
	_, _ = os.Stdout.Write(input)
	return 0
}

// fakeEngine is a container engine whose state is in a directory:
//
//	images/NAME, registry/NAME   images that the engine has, or can pull
//	down                         if it exists, the daemon does not answer
//	refuse                       if it exists, containers with mounts fail
//	broken                       if it exists, all containers fail
//	controllers                  output of podman info
//	warning                      a line to write before each container
//	late                         a line to write when a reusable container ends
//	log                          arguments of each command
//	containers/NAME              exists while the container runs
type fakeEngine struct{ dir, name string }

func (f fakeEngine) run(args []string) int {
	f.log(args)
	if f.has("down") {
		fmt.Fprintln(os.Stderr, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")
		return 1
	}
	switch args[0] {
	case "version":
	case "info":
		controllers, err := os.ReadFile(f.path("controllers"))
		if err != nil {
			controllers = []byte("[cpuset cpu io memory pids]\n")
		}
		_, _ = os.Stdout.Write(controllers)
	case "image":
		return f.inspect(args[2])
	case "pull":
		return f.pull(args[1])
	case "run":
		return f.start(args[1:])
	case "rm":
		f.remove(args[2])
	}
	return 0
}

func (f fakeEngine) path(elements ...string) string {
	return filepath.Join(append([]string{f.dir}, elements...)...)
}

func (f fakeEngine) has(elements ...string) bool {
	_, err := os.Stat(f.path(elements...))
	return err == nil
}

func (f fakeEngine) touch(elements ...string) {
	file := f.path(elements...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		panic(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		panic(err)
	}
}

func (f fakeEngine) log(args []string) {
	line, _ := json.Marshal(args)
	file, err := os.OpenFile(f.path("log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprintf(file, "%s\n", line)
}

// runs returns the arguments of all run commands.
func (f fakeEngine) runs(t *testing.T) (all [][]string) {
	t.Helper()
	content, err := os.ReadFile(f.path("log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var args []string
		if err := json.Unmarshal([]byte(line), &args); err != nil {
			t.Fatal(err)
		}
		if args[0] == "run" {
			all = append(all, args)
		}
	}
	return all
}

func file(ref string) string { return strings.NewReplacer("/", "_", ":", "_").Replace(ref) }

func (f fakeEngine) inspect(ref string) int {
	if !f.has("images", file(ref)) {
		fmt.Fprintf(os.Stdout, "[]\n")
		fmt.Fprintf(os.Stderr, "Error: No such image: %s\n", ref)
		return 1
	}
	fmt.Printf(`[{"Id": "sha256:1234", "Config": {"Entrypoint": [%q], "Cmd": ["arg"]}}]`+"\n", f.path("fn"))
	return 0
}

func (f fakeEngine) pull(ref string) int {
	if !f.has("registry", file(ref)) {
		fmt.Fprintln(os.Stderr, "Error response from daemon: manifest unknown")
		return 1
	}
	fmt.Println("v1: Pulling from example/fn\n0123: Downloading\r0123: Pull complete")
	f.touch("images", file(ref))
	return 0
}

// start runs a container until its program exits, or until it is removed.
func (f fakeEngine) start(args []string) int {
	value := func(flag string) string {
		if i := slices.Index(args, flag); i >= 0 {
			return args[i+1]
		}
		return ""
	}
	if f.has("broken") || f.has("refuse") && value("--mount") != "" {
		fmt.Fprintln(os.Stderr, "docker: Error response from daemon: no space left on device.\nSee 'docker run --help'.")
		return 125
	}
	name := value("--name")
	f.touch("containers", name)
	var over atomic.Bool
	defer func() {
		over.Store(true)
		f.remove(name)
	}()
	go func() {
		for f.has("containers", name) {
			time.Sleep(time.Millisecond)
		}
		if !over.Load() {
			syscall.Exit(137)
		}
	}()
	if text, err := os.ReadFile(f.path("warning")); err == nil {
		fmt.Fprintf(os.Stderr, "%s\n", text)
	}
	fmt.Fprintln(os.Stderr, "WARNING: The requested image's platform (linux/arm64) does not match the detected host platform (linux/amd64)")
	for i, arg := range args {
		if key, v, ok := strings.Cut(arg, "="); ok && args[max(i-1, 0)] == "-e" {
			_ = os.Setenv(key, v)
		}
	}
	if i := slices.Index(args, entrypoint.Name); i >= 0 {
		dir, err := os.MkdirTemp(f.dir, "tmp-*")
		if err != nil {
			panic(err)
		}
		if err := entrypoint.Serve(context.Background(), args[i+1:], entrypoint.Scratch{Dirs: []string{dir}, Root: dir}, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 125
		}
		if text, err := os.ReadFile(f.path("late")); err == nil {
			fmt.Fprintf(os.Stderr, "%s\n", text)
		}
		return 0
	}
	os.Args = []string{"fn", "alone"}
	return fakeFunction()
}

func (f fakeEngine) remove(name string) { _ = os.Remove(f.path("containers", name)) }

// newFake returns an engine with the given images.
func newFake(t *testing.T, name string, images ...string) fakeEngine {
	t.Helper()
	f := fakeEngine{t.TempDir(), name}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{name, "fn"} {
		if err := os.Symlink(executable, f.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, image := range images {
		f.touch("images", file(image))
	}
	return f
}
