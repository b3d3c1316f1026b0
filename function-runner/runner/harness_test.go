// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/internal/process/programtest"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

// scripts are the functions of the tests, by name. Their images are r.io/NAME:v1.
var scripts = map[string]string{
	"echo": "cat",
	"fail": `printf '%sresults:\n- message: bad port\n  severity: error\n' "$(cat)
"; echo details >&2; exit 1`,
	"warn":          `cat; printf 'results:\n- message: m\n  severity: error\n'; echo careful >&2`,
	"garbage":       "echo hello",
	"silent":        "cat >/dev/null",
	"hang":          "sleep 1000",
	"fork-and-hang": "sleep 1000 & sleep 1000",
	"flood":         "exec cat /dev/zero",
	"large":         "cat /dev/zero | head -c 200000",
	"early":         "exec <&-; printf 'kind: ResourceList\\n'",
	"killed":        "kill -KILL $$",
	"hog":           "read line; dd if=/dev/zero of=/dev/null bs=900G count=1 && cat",
	"secrets":       `test -z "$AWS_SECRET_ACCESS_KEY" && cat`,
	"once":          `mkdir "$0.ran" && cat; echo careful >&2`,
	// The worker script outputs its process ID, with and without the worker protocol.
	"worker": `answer() { printf '%-100s' "kind: ResourceList
items: []
# $$"; }
test "$1" = --worker || { answer; exit; }
printf 'krmfn worker 1\n'
while set -- $(head -c 4 | od -An -tu1) && test $# = 4; do
head -c $(($3 * 256 + $4)) >/dev/null
printf '\000\000\000\000\000\000\000\144'
answer
done`,
	"own-tmp": `test -z "$(ls -A "$TMPDIR")" && touch "$TMPDIR/left" && cat`,
}

// fixture is a runner that serves on a TCP socket, and its clients.
type fixture struct {
	porch evaluatorgrpc.FunctionEvaluatorClient
	v1    evaluatorv1grpc.FunctionEvaluatorServiceClient
	conn  *grpc.ClientConn
	stop  context.CancelFunc
	done  chan error
}

func start(t *testing.T, change func(*options.Options)) *fixture {
	t.Helper()
	return startWith(t, func(c *Config) {
		if change != nil {
			change(&c.Options)
		}
	})
}

func startWith(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	dir := t.TempDir()
	var config strings.Builder
	config.WriteString("functions:\n")
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range scripts {
			if !yield(name) {
				return
			}
		}
	}) {
		programtest.Write(t, filepath.Join(dir, name), "#!/bin/sh\n"+scripts[name]+"\n")
		fmt.Fprintf(&config, "- function: %s\n  images: ['r.io/%s:v1']\n  deterministic: %v\n  worker: %v\n", name, name, name == "once", name == "worker")
	}
	o := options.Default()
	o.ShutdownDelay = 0
	o.DisableRuntimes, o.DefaultImagePrefix = "pod", "r.io"
	o.Exec = options.Exec{Config: filepath.Join(dir, "config.yaml"), Functions: dir, Strict: true}
	o.Limits.MaxMessageSize = 100_000
	if err := os.WriteFile(o.Exec.Config, []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{Options: o, Environ: append(os.Environ(), "AWS_SECRET_ACCESS_KEY=x"), Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	change(&c)
	ctx, cancel := context.WithCancel(t.Context())
	var err error
	if c.Memo, err = NewMemo(c.Options, noop.NewMeterProvider()); err != nil {
		t.Fatal(err)
	}
	r, err := New(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{stop: cancel, done: make(chan error, 1)}
	go func() {
		defer close(f.done)
		f.done <- r.Serve(ctx, listener)
	}()
	f.conn, err = grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	f.porch, f.v1 = evaluatorgrpc.NewFunctionEvaluatorClient(f.conn), evaluatorv1grpc.NewFunctionEvaluatorServiceClient(f.conn)
	t.Cleanup(func() { f.end(t) })
	return f
}

// end stops the runner and waits for it. It is idempotent.
func (f *fixture) end(t *testing.T) {
	t.Helper()
	f.stop()
	if err, serving := <-f.done; serving {
		if err != nil {
			t.Errorf("Serve() = %v, want nil", err)
		}
		_ = f.conn.Close()
	}
}

// within returns a context with a timeout, for functions that do not end.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
