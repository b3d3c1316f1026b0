// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/krmfn/krmfn/internal/porch"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/remote"
)

// maxMessage is the message limit of the test servers and their clients, in bytes.
const maxMessage = 4000

// v1Server serves krmfn.evaluator.v1 with an evaluator.
type v1Server struct {
	evaluatorv1grpc.UnimplementedFunctionEvaluatorServiceServer
	evaluator       evaluation.Evaluator
	unary, streamed atomic.Int32
	maxList         int
}

func (s *v1Server) Evaluate(ctx context.Context, req *evaluatorv1.EvaluateRequest) (*evaluatorv1.EvaluateResponse, error) {
	s.unary.Add(1)
	resp, err := s.evaluator.Evaluate(ctx, evaluation.Request{Image: req.GetImage(), ResourceList: req.GetResourceList()})
	if err != nil {
		return nil, statusOf(err)
	}
	return &evaluatorv1.EvaluateResponse{ResourceList: resp.ResourceList, Evaluation: resp.Report}, nil
}

func (s *v1Server) EvaluateStream(stream grpc.BidiStreamingServer[evaluatorv1.EvaluateStreamRequest, evaluatorv1.EvaluateStreamResponse]) error {
	s.streamed.Add(1)
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if size := first.GetHeader().GetSizeBytes(); size > int64(s.maxList) {
		return status.Errorf(codes.ResourceExhausted, "the ResourceList is larger than max (%d vs. %d), see --max-resource-list-size", size, s.maxList)
	}
	var in []byte
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		in = append(in, part.GetChunk()...)
	}
	resp, err := s.evaluator.Evaluate(stream.Context(), evaluation.Request{Image: first.GetHeader().GetImage(), ResourceList: in})
	if err != nil {
		return statusOf(err)
	}
	for rest := resp.ResourceList; len(rest) > 0; {
		n := min(len(rest), maxMessage/2)
		if err := stream.Send(&evaluatorv1.EvaluateStreamResponse{Part: &evaluatorv1.EvaluateStreamResponse_Chunk{Chunk: rest[:n]}}); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return stream.Send(&evaluatorv1.EvaluateStreamResponse{Part: &evaluatorv1.EvaluateStreamResponse_Evaluation{Evaluation: resp.Report}})
}

func (s *v1Server) Prepare(_ context.Context, req *evaluatorv1.PrepareRequest) (*evaluatorv1.PrepareResponse, error) {
	resp := &evaluatorv1.PrepareResponse{}
	for _, image := range req.GetImages() {
		resp.Functions = append(resp.Functions, &evaluatorv1.PreparedFunction{Image: image, State: evaluatorv1.PrepareState_PREPARE_STATE_READY})
	}
	return resp, nil
}

func (s *v1Server) ListFunctions(context.Context, *evaluatorv1.ListFunctionsRequest) (*evaluatorv1.ListFunctionsResponse, error) {
	return &evaluatorv1.ListFunctionsResponse{Functions: []*evaluatorv1.Function{{Name: "echo"}}}, nil
}

// porchServer serves Porch's contract. With details set, it adds status details like krmfn's runner.
type porchServer struct {
	evaluatorgrpc.UnimplementedFunctionEvaluatorServer
	evaluator evaluation.Evaluator
	details   bool
	calls     atomic.Int32
}

func (s *porchServer) EvaluateFunction(ctx context.Context, req *evaluator.EvaluateFunctionRequest) (*evaluator.EvaluateFunctionResponse, error) {
	s.calls.Add(1)
	resp, err := s.evaluator.Evaluate(ctx, evaluation.Request{Image: req.GetImage(), ResourceList: req.GetResourceList()})
	if err != nil {
		return nil, statusOf(err)
	}
	if resp.Report.GetFailure() != nil {
		st := porch.FailureStatus(req.GetImage(), resp.Report)
		if !s.details {
			st = status.New(st.Code(), st.Message())
		}
		return nil, st.Err()
	}
	return &evaluator.EvaluateFunctionResponse{ResourceList: resp.ResourceList, Log: resp.Report.GetStderr()}, nil
}

func statusOf(err error) error {
	if errors.As(err, new(*evaluation.NotFoundError)) {
		return status.Error(codes.NotFound, err.Error())
	}
	if errors.As(err, new(*evaluation.BusyError)) {
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	return status.FromContextError(err).Err()
}

// functionsForTests evaluates the functions of the test servers.
var functionsForTests = evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	report := &evaluationv1.Evaluation{
		Image: "r.io/" + req.Image, Implementation: req.Image + " v1", Stderr: []byte("log\n"),
		Results: []*evaluationv1.Result{{Message: "hello", Severity: "info"}},
	}
	switch req.Image {
	case "echo":
		return evaluation.Response{ResourceList: req.ResourceList, Report: report}, nil
	case "grow":
		return evaluation.Response{ResourceList: append(req.ResourceList, make([]byte, 2*maxMessage)...), Report: report}, nil
	case "garbage":
		return evaluation.Response{ResourceList: []byte("garbage"), Report: report}, nil
	case "empty":
		return evaluation.Response{Report: report}, nil
	case "unreported":
		return evaluation.Response{ResourceList: req.ResourceList}, nil
	case "fail":
		report.ExitCode = 3
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, "exit status 3"), nil
	case "busy":
		return evaluation.Response{}, &evaluation.BusyError{Running: 1, Waiting: 2}
	case "hang":
		<-ctx.Done()
		return evaluation.Response{}, ctx.Err()
	}
	return evaluation.Response{}, &evaluation.NotFoundError{Image: req.Image}
})

func connect(t *testing.T, register func(*grpc.Server), options ...grpc.ServerOption) *remote.Client {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(append(options, grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))...)
	register(server)
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) })
	conn, err := grpc.NewClient("passthrough:///runner.example",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		served.Wait()
	})
	return remote.New(conn, remote.Limits{MaxMessageSize: maxMessage, MaxListSize: 5 * maxMessage})
}

func connectV1(t *testing.T) (*remote.Client, *v1Server) {
	t.Helper()
	s := &v1Server{evaluator: functionsForTests, maxList: 4 * maxMessage}
	return connect(t, func(server *grpc.Server) { evaluatorv1grpc.RegisterFunctionEvaluatorServiceServer(server, s) }), s
}

func connectPorch(t *testing.T, details bool) *remote.Client {
	t.Helper()
	s := &porchServer{evaluator: functionsForTests, details: details}
	return connect(t, func(server *grpc.Server) { evaluatorgrpc.RegisterFunctionEvaluatorServer(server, s) })
}
