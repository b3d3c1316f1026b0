// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"bytes"
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/internal/workerprotocol"
)

// moreConfigs are functionConfigs for functions that are missing in workConfigs.
var moreConfigs = map[string]string{
	"create-setters":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {image: nginx, args: '[a, b]'}\n",
	"kubeval":                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {strict: 'true'}\n",
	"kubeconform":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {strict: 'true', ignore_missing_schemas: 'true'}\n",
	"search-replace":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {by-value-regex: 'ngi(.*)', put-value: 'x${1}'}\n",
	"set-enforcement-action": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {enforcementAction: warn}\n",
	"set-image":              "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {name: nginx, newTag: v9}\n",
	"validate-cel": "apiVersion: fn.kpt.dev/v1alpha1\nkind: ValidateCEL\nmetadata: {name: c}\nrules:\n" +
		"- {expression: 'object.kind != \"CronJob\"', message: no cron}\n",
}

// poison are functionConfigs that might change state shared between calls. probe detects such changes.
var poison = []string{
	`apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
source: |
  load("math.star", "math")
  load("time.star", "time")
  load("encoding/json.star", "json")
  load("re.star", "re")
  load("hash.star", "hash")
  load("encoding/base64.star", "base64")
  load("encoding/yaml.star", "yaml")
  def spoil(value, depth):
    if depth > 3: return
    kind = type(value)
    if kind == "dict": value["poison"] = "x"
    elif kind == "list": value.append("poison")
    elif kind == "set": value.add("poison")
    else:
      for name in dir(value):
        if kind in ("module", "struct"): spoil(getattr(value, name), depth + 1)
  for value in [math, time, json, re, hash, base64, yaml, ctx.environment, ctx.open_api, ctx]: spoil(value, 0)
  poison = 1
  len = None
  print("spoilt")
`,
	`apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
source: |
  fail("half way")
`,
	`apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
source: |
  print(poison)
`,
	"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: poison, namespace: poison}\ndata: {namespace: poison, name: poison, project-id: poison, poison: poison}\n",
	"kind: [1",
	"data: {a: *b}",
	"",
}

const probe = `apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
source: |
  load("math.star", "math")
  load("time.star", "time")
  load("encoding/json.star", "json")
  load("re.star", "re")
  load("hash.star", "hash")
  environment = sorted([k for k in ctx.environment])
  print(environment, len(ctx.resource_list), [[dir(m), str(m)] for m in [math, time, json, re, hash]])
`

// outcome is the result of a call, in its own process or in a worker.
type outcome struct {
	Code           int
	Stdout, Stderr string
}

// TestWorkers runs calls in one worker process per function, in random order and mixed with poison. Each call must have the
// same outcome as in a process of its own.
func TestWorkers(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	configs := maps.Clone(workConfigs)
	maps.Copy(configs, moreConfigs)
	for _, f := range All() {
		if !f.Traits.Worker {
			continue
		}
		link := filepath.Join(dir, f.Name)
		if err := os.Symlink(self, link); err != nil {
			t.Fatal(err)
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			var calls []string
			for _, config := range append([]string{configs[f.Name], probe}, poison...) {
				calls = append(calls, functiontest.List(workItems, config))
			}
			calls = append(calls, functiontest.List("", configs[f.Name]), "", "kind: Foo\n", functiontest.List("- &a {kind: A, metadata: *a}\n", configs[f.Name]))
			want := make([]outcome, len(calls))
			for i, in := range calls {
				want[i] = alone(t, link, in)
			}
			w := startWorker(t, link)
			const rounds = 5
			for range rounds {
				for _, i := range rand.Perm(len(calls)) {
					if diff := cmp.Diff(want[i], w.call(t, calls[i])); diff != "" {
						t.Fatalf("outcome (-own process +worker) for\n%s\n%s", calls[i], diff)
					}
				}
			}
		})
	}
}

// alone evaluates a list in a process of its own.
func alone(t *testing.T, program, in string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &stdout, &stderr
	_ = cmd.Run()
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// worker is a function's process that handles many calls.
type worker struct {
	stdin  io.Writer
	stdout io.Reader
	// stderr is a file. Each call reads what was written since the previous one.
	stderr *os.File
}

func startWorker(t *testing.T, program string) worker {
	t.Helper()
	// The worker's stdin is closed after the test.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, workerprotocol.Argument)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "stderr")
	theirs, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	cmd.Stderr = theirs
	ours, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = ours.Close()
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the worker ends with %v after the end of its input, want nil", err)
		}
	})
	if err := workerprotocol.ReadGreeting(stdout); err != nil {
		t.Fatal(err)
	}
	return worker{stdin, stdout, ours}
}

func (w worker) call(t *testing.T, in string) outcome {
	t.Helper()
	if err := workerprotocol.WriteRequest(w.stdin, []byte(in)); err != nil {
		t.Fatal(err)
	}
	answer, err := workerprotocol.ReadAnswer(w.stdout, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := io.ReadAll(w.stderr)
	if err != nil {
		t.Fatal(err)
	}
	return outcome{answer.ExitCode, string(answer.Stdout), string(stderr)}
}

func TestEveryFunctionHasWork(t *testing.T) {
	t.Parallel()
	without := []string{"fix", "gatekeeper", "generate-kpt-pkg-docs", "list-setters", "no-op", "remove-local-config-resources", "render-helm-chart"}
	for _, f := range All() {
		if workConfigs[f.Name] == "" && moreConfigs[f.Name] == "" && !slices.Contains(without, f.Name) {
			t.Errorf("%s has no functionConfig with which it changes something", f.Name)
		}
	}
}
