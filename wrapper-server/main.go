// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command wrapper-server is the gRPC server in a function pod, which runs the pod's function for each call.
//
// The static binary also works in images without a shell, because it contains two more programs. As cp, it copies itself into the pod; as
// grpc-health-probe, it is a probe for the kubelet. Any other name starts the server.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/krmfn/krmfn/internal/process"
)

// ownShare is the server's share of the container's memory limit. The server collects garbage more often as it approaches this share. The
// rest is for functions.
const ownShare = 0.25

// garbagePercent is the value for GOGC. With Go's default of 100, a garbage collection runs during one small call in a hundred, and several
// times during a call with a large list. Higher values cost memory: with four callers that send lists of 1 MB, the server takes 42 MB at
// 100 and 76 MB at 400. The server returns this memory when it is idle.
const garbagePercent = 200

func main() { os.Exit(runAs(os.Args)) }

// runAs runs the program that argv[0] names, and returns its exit code.
func runAs(argv []string) int {
	switch args := argv[1:]; filepath.Base(argv[0]) {
	case "cp":
		return report("cp", copyFiles(args))
	case "grpc-health-probe":
		return probeHealth(context.Background(), args, os.Stdout, os.Stderr)
	default:
		return report("wrapper-server", serveFunction(args))
	}
}

func serveFunction(args []string) error {
	process.RelaxTimers()
	protect()
	process.YieldProcessors()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	// Without a memory limit, this fails and has no effect.
	_, _ = memlimit.Set(memlimit.WithRatio(ownShare))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return runServer(ctx, args, os.Environ(), os.Stdout, os.Stderr)
}

// report prints the error, if any, and returns the exit code.
func report(name string, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	return 1
}
