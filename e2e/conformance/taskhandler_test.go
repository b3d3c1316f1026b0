// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/taskhandler/v1/taskhandlerv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
)

// A package renders to the same files with built-in functions and with a function runner.
func TestTaskHandler(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, err := binaries.WriteExecConfig(t.Context(), bin, dir, binaries.Functions, binaries.FunctionsLight)
	if err != nil {
		t.Fatal(err)
	}
	runner := startProcess(t, binaries.FunctionRunner, config.Flags()...)
	own := renderExample(t, startProcess(t, binaries.TaskHandler), evaluationv1.Evaluator_EVALUATOR_BUILTIN)
	remote := renderExample(t, startProcess(t, binaries.TaskHandler, "--function-runner-address="+runner.Addr, "--builtin-functions=false"),
		evaluationv1.Evaluator_EVALUATOR_EXEC)
	if len(own) == 0 || len(own) != len(remote) {
		t.Fatalf("changed files = %d with built-in functions, %d with a function runner, want the same number", len(own), len(remote))
	}
	for i := range own {
		if own[i].GetPath() != "Kptfile" && !proto.Equal(own[i], remote[i]) {
			t.Errorf("with built-in functions:\n%s\nwith a function runner:\n%s", own[i], remote[i])
		}
	}
}

func startProcess(t *testing.T, name string, flags ...string) *server.Process {
	t.Helper()
	// The test's context is cancelled before the cleanup runs, which would kill the process.
	p, err := server.Start(context.WithoutCancel(t.Context()), filepath.Join(bin, name), filepath.Join(t.TempDir(), "log"), flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, p) })
	return p
}

// renderExample returns the changes in the example package. It fails the test if another evaluator ran one of the functions.
func renderExample(t *testing.T, handler *server.Process, evaluator evaluationv1.Evaluator) []*taskhandlerv1.Change {
	t.Helper()
	conn, err := grpc.NewClient(handler.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing is sent any more
	req := &taskhandlerv1.RenderRequest{Files: exampleFiles(t), Options: &taskhandlerv1.RenderOptions{WriteStatus: true}}
	resp, err := taskhandlerv1grpc.NewTaskHandlerServiceClient(conn).Render(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if text := resp.GetResult().GetStatus().GetError(); text != "" || len(resp.GetResult().GetFunctions()) == 0 {
		t.Fatalf("render ran %d functions with error %q, want some and no error", len(resp.GetResult().GetFunctions()), text)
	}
	for _, f := range resp.GetResult().GetFunctions() {
		if f.GetEvaluator() != evaluator {
			t.Errorf("%s: evaluator = %v, want %v", f.GetFunction(), f.GetEvaluator(), evaluator)
		}
	}
	return resp.GetChanges()
}

func exampleFiles(t *testing.T) (files []*taskhandlerv1.File) {
	t.Helper()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	example := os.DirFS(filepath.Join(root, "examples", "web-shop"))
	err = fs.WalkDir(example, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(example, p)
		files = append(files, &taskhandlerv1.File{Path: p, Content: content})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
