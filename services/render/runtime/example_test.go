// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"google.golang.org/grpc"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/evaluation/remote"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// Built-in functions come first. A function runner evaluates all others.
func ExampleMulti() {
	address, stop := startRunner()
	defer stop()
	conn, err := remote.Dial(address, remote.Limits{})
	if err != nil {
		log.Panic(err)
	}
	defer conn.Close() //nolint:errcheck // All calls have returned.

	noop := function.Function{
		Name: "noop", Version: "v1.0.0", Summary: "changes nothing",
		Process: func(context.Context, *fn.ResourceList) (bool, error) { return true, nil },
	}
	evaluator := runtime.Multi{
		runtime.Builtin{Functions: function.NewSet(noop)},
		remote.New(conn, remote.Limits{}),
	}
	for _, image := range []string{"noop", "registry.example.com/other:v1"} {
		response, err := evaluator.Evaluate(context.Background(), evaluation.Request{
			Image: image, ResourceList: []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"),
		})
		if err != nil {
			log.Panic(err)
		}
		fmt.Println(image, "->", response.Report.GetImplementation())
	}
	// Output:
	// noop -> noop v1.0.0
	// registry.example.com/other:v1 -> a function runner
}

// startRunner starts a fake function runner.
func startRunner() (address string, stop func()) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "localhost:0")
	if err != nil {
		log.Panic(err)
	}
	server := grpc.NewServer()
	evaluatorv1grpc.RegisterFunctionEvaluatorServiceServer(server, exampleRunner{})
	go server.Serve(listener) //nolint:errcheck // Serve returns after Stop.
	return listener.Addr().String(), server.Stop
}

type exampleRunner struct {
	evaluatorv1grpc.UnimplementedFunctionEvaluatorServiceServer
}

func (exampleRunner) Evaluate(_ context.Context, req *evaluatorv1.EvaluateRequest) (*evaluatorv1.EvaluateResponse, error) {
	return &evaluatorv1.EvaluateResponse{
		ResourceList: req.GetResourceList(),
		Evaluation:   &evaluationv1.Evaluation{Image: req.GetImage(), Implementation: "a function runner"},
	}, nil
}
