// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/internal/server/hostiletest"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/taskhandler/v1/taskhandlerv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
)

const (
	// heapLimit is the heap limit of the servers under attack. maxResident is the maximum of their resident memory in bytes. The chart's
	// default limit for function runners is 1 GiB.
	heapLimit   = "GOMEMLIMIT=200MiB"
	maxResident = 640 << 20
	// attackTime bounds the time of one attack.
	attackTime = 2 * time.Second
	allowed    = "spiffe://test/porch"
)

// victim is a server under attack.
type victim struct {
	pid     int
	targets []hostiletest.Target
	// port is the port for regular calls. call makes one.
	port string
	call func(context.Context, grpc.ClientConnInterface) error
}

// No attack makes a server exceed its memory, or fails the calls of other clients.
func TestAttacks(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) victim{
		"function runner, Porch's contract": attackedRunner(evaluatorgrpc.FunctionEvaluator_EvaluateFunction_FullMethodName),
		"function runner, streams":          attackedRunner(evaluatorv1grpc.FunctionEvaluatorService_EvaluateStream_FullMethodName),
		"function runner, health":           attackedRunner(grpc_health_v1.Health_Check_FullMethodName),
		"function runner, reflection":       attackedRunner(grpc_reflection_v1.ServerReflection_ServerReflectionInfo_FullMethodName),
		"function runner with TLS":          attackedSecureRunner,
		"task handler":                      attackedTaskHandler,
		"wrapper server":                    attackedWrapper,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := start(t)
			v.expectCall(t, "before all attacks")
			for _, target := range v.targets {
				for _, attack := range slices.Sorted(maps.Keys(hostiletest.Attacks)) {
					v.attack(t, attack, target)
				}
			}
		})
	}
}

// attack runs an attack, and calls the server during and after it.
func (v victim) attack(t *testing.T, name string, target hostiletest.Target) {
	t.Helper()
	what := fmt.Sprintf("%s on %s", name, target.Method)
	ctx, cancel := context.WithTimeout(t.Context(), attackTime)
	defer cancel()
	before := resident(t, v.pid, "VmRSS")
	if err := hostiletest.Attacks[name](ctx, target); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	v.expectCall(t, "during "+what)
	t.Logf("%s: VmRSS %d MiB, then %d, VmHWM %d", what, before>>20, resident(t, v.pid, "VmRSS")>>20, resident(t, v.pid, "VmHWM")>>20)
	if got := resident(t, v.pid, "VmHWM"); got > maxResident {
		t.Fatalf("%s: VmHWM = %d MiB, want at most %d", what, got>>20, maxResident>>20)
	}
	cancel()
	v.expectCall(t, "after "+what)
}

// expectCall makes a regular call over a new connection. Its source address differs from the address of the attacks.
func (v victim) expectCall(t *testing.T, when string) {
	t.Helper()
	conn, err := grpc.NewClient(net.JoinHostPort("::1", v.port), grpc.WithTransportCredentials(v.credentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the call has ended
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	begin := time.Now()
	if err := v.call(ctx, conn); err != nil {
		t.Errorf("%s: call failed after %v: %v", when, time.Since(begin), err)
	}
}

func (v victim) credentials() credentials.TransportCredentials {
	for _, target := range v.targets {
		if target.TLS != nil {
			return credentials.NewTLS(target.TLS)
		}
	}
	return insecure.NewCredentials()
}

// resident returns a size in bytes from the status of a process.
func resident(t *testing.T, pid int, key string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] == key+":" {
			kilobytes, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatalf("process %d has no %s: it has ended", pid, key)
	return 0
}

func evaluate(ctx context.Context, conn grpc.ClientConnInterface) error {
	_, err := evaluatorgrpc.NewFunctionEvaluatorClient(conn).EvaluateFunction(ctx,
		&evaluator.EvaluateFunctionRequest{Image: "echo:v1", ResourceList: configMaps(1)}, grpc.WaitForReady(true))
	return err
}

func attackedRunner(method string) func(*testing.T) victim {
	return func(t *testing.T) victim {
		p := startAttacked(t, binaries.FunctionRunner, runnerFlags(t)...)
		return victim{pid: p.PID(), port: port(t, p.Addr), call: evaluate, targets: []hostiletest.Target{{Address: p.Addr, Method: method}}}
	}
}

// The runner requires client certificates. Only its health port accepts other clients.
func attackedSecureRunner(t *testing.T) victim {
	dir, health := t.TempDir(), freePort(t)
	authority := certificatestest.New(t, "authority")
	certificate, key := authority.Pair(t, dir, 24*time.Hour, "127.0.0.1", "::1", allowed)
	own, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	p := startAttacked(t, binaries.FunctionRunner, append(runnerFlags(t), "--tls-cert-file="+certificate, "--tls-key-file="+key,
		"--client-ca-file="+certificatestest.Write(t, dir, "ca.crt", authority.PEM), "--allowed-clients="+allowed, "--health-port="+health)...)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM)
	secure := &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: roots, ServerName: "127.0.0.1", NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13}
	return victim{pid: p.PID(), port: port(t, p.Addr), call: evaluate, targets: []hostiletest.Target{
		{Address: p.Addr, Method: evaluatorgrpc.FunctionEvaluator_EvaluateFunction_FullMethodName, TLS: secure},
		{Address: net.JoinHostPort("127.0.0.1", health), Method: grpc_health_v1.Health_Watch_FullMethodName},
	}}
}

func attackedTaskHandler(t *testing.T) victim {
	files := exampleFiles(t)
	p := startAttacked(t, binaries.TaskHandler)
	render := func(ctx context.Context, conn grpc.ClientConnInterface) error {
		_, err := taskhandlerv1grpc.NewTaskHandlerServiceClient(conn).Render(ctx, &taskhandlerv1.RenderRequest{Files: files}, grpc.WaitForReady(true))
		return err
	}
	return victim{pid: p.PID(), port: port(t, p.Addr), call: render, targets: []hostiletest.Target{
		{Address: p.Addr, Method: taskhandlerv1grpc.TaskHandlerService_RenderStream_FullMethodName},
	}}
}

func attackedWrapper(t *testing.T) victim {
	own := freePort(t)
	// The test's context is cancelled before the cleanup runs, which would kill the process.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(bin, binaries.WrapperServer), "--port="+own, "--", "/bin/cat")
	cmd.Env, cmd.Stderr = append(os.Environ(), heapLimit), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return victim{pid: cmd.Process.Pid, port: own, call: evaluate, targets: []hostiletest.Target{
		{Address: net.JoinHostPort("127.0.0.1", own), Method: evaluatorgrpc.FunctionEvaluator_EvaluateFunction_FullMethodName},
	}}
}

func startAttacked(t *testing.T, name string, flags ...string) *server.Process {
	t.Helper()
	p, err := server.StartWith(context.WithoutCancel(t.Context()), []string{heapLimit}, filepath.Join(bin, name), filepath.Join(t.TempDir(), "log"), flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, p) })
	return p
}

func port(t *testing.T, address string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
