// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

const (
	// callTimeout is the deadline of each call.
	callTimeout = 30 * time.Second
	// loopback is the IP address of all pods of idle pools.
	loopback = "127.0.0.1"
	// wrapperPort is the port at which function runners expect a pod's wrapper server.
	wrapperPort = "9446"
	// adoption is the time limit for a function runner to connect to all pods.
	adoption = time.Minute
	// unused is the time without calls after which function runners let the connection to a pod go idle.
	unused = 75 * time.Second
	// collections is the number of garbage collections to wait for before reading the live memory, so that allocations of the startup are
	// gone.
	collections = 5
)

// measurePools measures the memory that one idle pool adds to a function runner. The function runner adopts the pods of many functions from
// an API server that only lists pods, and connects to each pod. The pods run on no node: all addresses lead to one gRPC server that reports
// itself healthy.
func (b *bench) measurePools(ctx context.Context, dir string) (err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(loopback, wrapperPort))
	if err != nil {
		return fmt.Errorf("listen at the port of function pods: %w", err)
	}
	healthy := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(healthy, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- healthy.Serve(listener) }()
	defer func() {
		healthy.Stop()
		err = errors.Join(err, <-served)
	}()
	none, err := b.memoryWith(ctx, dir, 0)
	if err != nil {
		return err
	}
	all, err := b.memoryWith(ctx, dir, *pools)
	if err != nil {
		return fmt.Errorf("%d pools: %w", *pools, err)
	}
	b.Add(report.Samples("function runner, heap and stacks per idle pool", "kB", (all.heap+all.stacks-none.heap-none.stacks)/float64(*pools)/1000))
	return nil
}

// memoryWith returns the memory of a function runner with the given number of idle pools.
func (b *bench) memoryWith(ctx context.Context, dir string, count int) (alive memory, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	api := httptest.NewServer(podServer{pods: poolsOf(count, b.pod, loopback)})
	defer api.Close()
	// Close blocks on open watches unless their connections are closed first.
	defer api.CloseClientConnections()
	kubeconfig, log := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, fmt.Sprintf("runner-%d.log", count))
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: %q}}]\n", api.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		return memory{}, err
	}
	env := []string{"GODEBUG=gctrace=1", "GOGC=5", "WRAPPER_SERVER_IMAGE=" + b.WrapperImage()}
	runner, err := server.StartWith(ctx, env, filepath.Join(b.Bin, binaries.FunctionRunner), log, "--disable-runtimes=exec", "--kubeconfig="+kubeconfig,
		"--wrapper-injection="+initContainer, "--scan-interval=1h", "--pod-cache-config=", "--config=")
	if err != nil {
		return memory{}, err
	}
	defer func() { err = errors.Join(err, runner.Stop()) }()
	if err := awaitLines(ctx, log, "function pod ready", count); err != nil {
		return memory{}, err
	}
	if count > 0 {
		select {
		case <-ctx.Done():
			return memory{}, context.Cause(ctx)
		case <-time.After(unused):
		}
	}
	return aliveIn(ctx, runner.Addr, log)
}

// awaitLines waits until text occurs count times in a log.
func awaitLines(ctx context.Context, log, text string, count int) error {
	ctx, cancel := context.WithTimeout(ctx, adoption)
	defer cancel()
	for {
		all, err := os.ReadFile(log)
		if err != nil {
			return err
		}
		found := strings.Count(string(all), text)
		if found >= count {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the function runner's log says %q %d times, want %d: %w", text, found, count, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// aliveIn makes calls that fail until the garbage collector has run often enough, and returns the live memory after the last collection.
func aliveIn(ctx context.Context, address, log string) (alive memory, err error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return memory{}, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	client := evaluatorgrpc.NewFunctionEvaluatorClient(conn)
	before := -1
	for range 10000 {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		// No registry listens on this port.
		_, err := client.EvaluateFunction(call, &evaluator.EvaluateFunctionRequest{Image: net.JoinHostPort(loopback, "1") + "/none:v1", ResourceList: make([]byte, 1<<16)})
		cancel()
		if err == nil {
			return memory{}, errors.New("a call to an unreachable registry succeeded")
		}
		text, err := os.ReadFile(log)
		if err != nil {
			return memory{}, err
		}
		count, last := lastCollection(string(text))
		if before < 0 {
			before = count
		}
		if count >= before+collections {
			return last, nil
		}
	}
	return memory{}, errors.New("the garbage collector of the function runner has not run")
}
