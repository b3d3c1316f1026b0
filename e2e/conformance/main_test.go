// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance tests from outside that the released binaries satisfy the contract that a Porch installation relies on. It uses real
// processes, real functions, and a client that knows only Porch's API.
package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/internal/process/programtest"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
)

// bin is the directory of the binaries.
var bin string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "krmfn-conformance-")
	if err == nil {
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
		bin = dir
		err = binaries.Build(context.Background(), dir, binaries.FunctionRunner, binaries.WrapperServer,
			binaries.TaskHandler, binaries.Functions, binaries.FunctionsLight)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// hostile maps names to shell scripts of functions that misbehave in one way each, and to a few that do not.
var hostile = map[string]string{
	"hang":          "exec sleep 1000",
	"fork-and-hang": "sleep 1000 & sleep 1000 & wait",
	"escape":        "setsid sleep 1000 >/dev/null 2>&1 & cat",
	"hold-pipes":    "sleep 1000 & cat",
	"flood":         "exec cat /dev/zero",
	"flood-stderr":  "head -c 20000000 /dev/zero >&2; cat",
	"early":         `exec <&-; printf 'kind: ResourceList\n'`,
	"garbage":       "echo '{]'",
	"fail":          `cat; printf 'results:\n- message: bad port\n  severity: error\n'; echo why >&2; exit 1`,
	"warn":          `cat; printf 'results:\n- message: m\n  severity: error\n'`,
	"echo":          "cat",
}

// startRunner starts a function runner that serves the hostile functions and set-labels, as NAME:v1.
func startRunner(t *testing.T, flags ...string) (*server.Process, evaluatorgrpc.FunctionEvaluatorClient) {
	t.Helper()
	runner, err := server.Start(t.Context(), filepath.Join(bin, binaries.FunctionRunner), filepath.Join(t.TempDir(), "log"),
		append(runnerFlags(t), flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(runner.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20), grpc.MaxCallSendMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return runner, evaluatorgrpc.NewFunctionEvaluatorClient(conn)
}

// runnerFlags returns the flags of a function runner that serves the hostile functions and set-labels, as NAME:v1.
func runnerFlags(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	var config strings.Builder
	config.WriteString("functions:\n")
	for name, script := range hostile {
		programtest.Write(t, filepath.Join(dir, name), "#!/bin/sh\n"+script+"\n")
		fmt.Fprintf(&config, "- {function: %s, images: ['%s:v1']}\n", name, name)
	}
	if err := os.Symlink(filepath.Join(bin, binaries.FunctionsLight), filepath.Join(dir, "set-labels")); err != nil {
		t.Fatal(err)
	}
	config.WriteString("- {function: set-labels, images: ['set-labels:v1']}\n")
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--disable-runtimes=pod", "--strict-config", "--config=" + file, "--functions=" + dir}
}
