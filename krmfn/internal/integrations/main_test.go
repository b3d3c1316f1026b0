// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package integrations_test holds what the directory integrations has to running as it is written.
package integrations_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/krmfn/internal/command"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// root is the root of the repository.
const root = "../../.."

// The test's program is the command where it is started by its name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "krmfn" {
		syscall.Exit(run())
	}
	os.Exit(m.Run())
}

func run() int {
	return command.Run(context.Background(), program.Program{
		Executable: os.Args[0], Args: os.Args[1:], Environ: os.Environ(), In: os.Stdin,
		Out: terminal.Stream{Writer: os.Stdout}, Err: terminal.Stream{Writer: os.Stderr},
	})
}

// install puts krmfn into a directory, which it returns.
func install(t *testing.T) string {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(executable, filepath.Join(dir, "krmfn")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// read reads a file of the repository strictly.
func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

const (
	kptfile = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop
  annotations:
    config.kubernetes.io/local-config: "true"
pipeline:
  mutators:
    - image: ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.5
      configPath: namespace.yaml
`
	namespace = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: namespace\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  namespace: shop\n"
	service   = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n"
	rendered  = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\n"
)

// newPackage makes a package in a directory.
func newPackage(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"Kptfile": kptfile, "namespace.yaml": namespace, "web.yaml": service} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// outcome is what a process left.
type outcome struct {
	Code     int
	Out, Err string
}

// execute runs a command line in a directory, with nothing but an environment.
func execute(t *testing.T, dir string, environ []string, line ...string) outcome {
	t.Helper()
	program := line[0]
	for _, variable := range environ {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok && !strings.Contains(program, "/") {
			for _, in := range filepath.SplitList(path) {
				if _, err := os.Stat(filepath.Join(in, program)); err == nil {
					program = filepath.Join(in, program)
					break
				}
			}
		}
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, line[1:]...)
	cmd.Args[0] = line[0]
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environ, &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}
