// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

const (
	// callTimeout is the deadline of a call, and pause the time between two calls.
	callTimeout = 20 * time.Second
	pause       = 50 * time.Millisecond
)

// list is a ResourceList that set-labels accepts.
const list = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
functionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {probe: called}}
`

// call calls a function in a loop, and prints a line after each call: the numbers of calls that succeeded and failed, and the last error.
// Calls before the first success do not count, because nodes need time to program a new Service.
func call(ctx context.Context, target, image string) {
	succeeded, failed, last := 0, 0, ""
	for ; ctx.Err() == nil; time.Sleep(pause) {
		if err := callOnce(ctx, target, image); err != nil {
			if succeeded == 0 {
				fmt.Println("not reached yet:", err)
				continue
			}
			failed++
			last = time.Now().UTC().Format(time.TimeOnly) + " " + strings.ReplaceAll(err.Error(), "\n", " ")
		} else {
			succeeded++
		}
		fmt.Println("calls:", succeeded, failed, last)
	}
}

// callOnce makes one call over a connection of its own, as Porch's server does after a restart: without retries.
func callOnce(ctx context.Context, target, image string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing to lose
	_, err = evaluatorgrpc.NewFunctionEvaluatorClient(conn).EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: image, ResourceList: []byte(list)})
	return err
}
