// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command inpod measures inside a function pod, within the pod's resource limits. It measures the function as a bare process, or calls of
// the pod's own wrapper server over loopback. It prints a load.Result as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/turns"
	"github.com/krmfn/krmfn/e2e/load"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
)

func main() {
	executable := pflag.String("executable", "", "executable of the function to run as bare processes")
	wrapper := pflag.String("wrapper", "", "address of the wrapper server to call instead")
	resources := pflag.Int("resources", 10, "how many resources the lists have")
	rate := pflag.Float64("rate", 10, "how many calls a second there are")
	turn := pflag.Duration("turn", time.Second, "how long there are calls")
	pflag.Parse()
	if err := run(context.Background(), *executable, *wrapper, function.List(*resources), *rate, *turn); err != nil {
		fmt.Fprintln(os.Stderr, "inpod:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, executable, wrapper string, list []byte, rate float64, turn time.Duration) (err error) {
	call := function.Bare(executable, list)
	if wrapper != "" {
		conn, err := grpc.NewClient(wrapper, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		call = evaluate(wrapperv1grpc.NewFunctionServiceClient(conn), list)
	}
	result, err := turns.Rate("", rate, turn, call).Turn(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func evaluate(client wrapperv1grpc.FunctionServiceClient, list []byte) load.Call {
	return func(ctx context.Context) error {
		resp, err := client.Evaluate(ctx, &wrapperv1.EvaluateRequest{ResourceList: list})
		if err != nil {
			return err
		}
		return function.Check(resp.GetResourceList())
	}
}
