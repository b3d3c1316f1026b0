// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command wrapper-server is the front of a function inside its pod. It is three programs in one static binary, so that it
// can be put into images that have no shell: by the name it is called by it is cp, which copies it into the pod,
// grpc-health-probe, which the kubelet runs, or else the server.
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

// ownShare is the part of the container's memory limit near which the server collects its garbage often. The rest is for the
// functions.
const ownShare = 0.25

// garbagePercent is the value for GOGC. With Go's default of 100, a garbage collection runs during one small call in a hundred, and several
// times during a call with a large list. Higher values cost memory: with four callers that send lists of 1 MB, the server takes 42 MB at
// 100 and 76 MB at 400. The server returns this memory when it is idle.
const garbagePercent = 200

func main() { os.Exit(runAs(os.Args)) }

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
	// It fails where the container has no limit.
	_, _ = memlimit.Set(memlimit.WithRatio(ownShare))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return runServer(ctx, args, os.Environ(), os.Stdout, os.Stderr)
}

func report(name string, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	return 1
}
