// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/krmfn/krmfn/krmfn/internal/command"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/embedded"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// The test's program is what the embedded runner starts as functions.
func TestMain(m *testing.M) {
	if code, ok := embedded.RunFunction(os.Args, os.Stdin, os.Stdout, os.Stderr); ok {
		syscall.Exit(code) // os.Exit would let the race detector look back for a second, in each function
	}
	if code, ok := runProgram(); ok {
		syscall.Exit(code)
	}
	// It waits for a second whether anybody asks why a connection could not be closed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown"))
}

var update = flag.Bool("update", false, "write the golden files anew")

// invocation is one call of krmfn.
type invocation struct {
	args    []string
	stdin   string
	environ []string
	// err, unless nil, gets the standard error.
	err io.Writer
	// width, unless 0, makes standard output and standard error terminals with this number of columns.
	width int
}

// outcome is what a call left.
type outcome struct {
	code     int
	out, err string
}

func (i invocation) run(ctx context.Context, t *testing.T) outcome {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	p := program.Program{
		Executable: executable, Args: i.args, Environ: append([]string{"PATH=" + os.Getenv("PATH"), "KRMFN_RUNTIME=builtin"}, i.environ...), In: strings.NewReader(i.stdin),
		Out: terminal.Stream{Writer: &stdout}, Err: terminal.Stream{Writer: &stderr},
	}
	if i.width > 0 {
		p.Out.Width, p.Err.Width = func() int { return i.width }, func() int { return i.width }
	}
	if i.err != nil {
		p.Err.Writer = i.err
	}
	code := command.Run(ctx, p)
	return outcome{code, stdout.String(), stderr.String()}
}

// krmfn calls krmfn with arguments.
func krmfn(t *testing.T, args ...string) outcome {
	t.Helper()
	return invocation{args: args}.run(t.Context(), t)
}

// ok fails the test unless a call succeeded.
func (o outcome) ok(t *testing.T) outcome {
	t.Helper()
	if o.code != failure.OK {
		t.Fatalf("exit code %d, standard error:\n%s", o.code, o.err)
	}
	return o
}

// contains fails the test unless a text has all the parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

var (
	durations = regexp.MustCompile(`(\x1b\[2m|\b)\d+(?:\.\d+)?(?:ms|s|µs)\b`)
	frames    = regexp.MustCompile(`\r\x1b\[K  [⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏][^\r\n]*`)
	versions  = regexp.MustCompile(`v\d+\.\d+\.\d+`)
	columns   = regexp.MustCompile(`(\S) {3,}`)
)

// timeless takes out what differs from run to run: times, frames of spinners, versions of functions, and the widths of
// columns, which depend on them.
func timeless(text string) string {
	text = frames.ReplaceAllString(text, "")
	text = versions.ReplaceAllString(text, "VERSION")
	text = durations.ReplaceAllString(text, "${1}TIME")
	return columns.ReplaceAllString(text, "$1   ")
}

const (
	prefix  = "ghcr.io/kptdev/krm-functions-catalog/"
	kptfile = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop
pipeline:
  mutators:
    - image: ` + prefix + `set-labels:v0.2
      configMap:
        app: web
      exclude:
        - kind: Kptfile
    - image: ` + prefix + `apply-setters:v0.2
      configMap:
        replicas: "3"
  validators:
    - image: ` + prefix + `kubeconform:v0.1
`
	deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # of the shop
spec:
  replicas: 1 # kpt-set: ${replicas}
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
        - name: web
          image: web:v1
`
	service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n    - port: 80\n"
)

// newPackage makes the directory of a package that can be rendered, with some files changed, in a directory named shop.
func newPackage(t *testing.T, changed map[string]string) string {
	t.Helper()
	files := map[string]string{"Kptfile": kptfile, "web.yaml": deployment, "net/service.yaml": service, "README.md": "# shop\n"}
	maps.Copy(files, changed)
	dir := filepath.Join(t.TempDir(), "shop")
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// snapshot returns the files below a directory.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		rel, _ := filepath.Rel(dir, file)
		files[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// unchanged fails the test when a directory is not what it was, but for some files.
func unchanged(t *testing.T, dir string, before map[string]string, but ...string) {
	t.Helper()
	after := snapshot(t, dir)
	for _, name := range but {
		after[name] = before[name]
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the package changed (-before +after):\n%s", diff)
	}
}

// serve serves on a free port and returns the address.
func serve(t *testing.T, register func(*grpc.Server)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.WaitForHandlers(true))
	register(server)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}
