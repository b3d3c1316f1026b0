// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/server/grpcserver"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// chunkSize is the maximum size of a chunk of the output, in bytes. A small MaxMessageSize reduces it.
const chunkSize = 256 << 10

type evaluateStream = grpc.BidiStreamingServer[evaluatorv1.EvaluateStreamRequest, evaluatorv1.EvaluateStreamResponse]

// EvaluateStream evaluates a function over a ResourceList in chunks. It cuts off clients that take longer than grpcserver.TransferTime to
// send the list or to read the response, because other calls wait for the reserved memory.
func (e *Evaluator) EvaluateStream(stream evaluateStream) error {
	ctx := stream.Context()
	// The server limits the time of the first message.
	header, err := e.header(stream)
	if err != nil {
		return err
	}
	// EvaluateStream reserves memory for the whole list before it reads the first chunk. Otherwise streams with partly received lists
	// could wait for each other's memory.
	reservation, err := e.Budget.Reserve(ctx, header.GetSizeBytes()+int64(e.MaxMessageSize))
	if err != nil {
		return grpcserver.AdmissionStatus(err)
	}
	defer reservation.Release()
	inTime := limitTransfer(ctx, header.GetSizeBytes(), "the list did not arrive")
	list, err := receive(stream, header.GetSizeBytes())
	if err := inTime(err); err != nil {
		return err
	}
	resp, err := e.Evaluator.Evaluate(ctx, evaluation.Request{Image: header.GetImage(), ResourceList: list, MaxOutput: e.MaxListSize})
	if err != nil {
		return ErrorStatus(ctx, header.GetImage(), err)
	}
	inTime = limitTransfer(ctx, int64(len(resp.ResourceList)), "the answer was not read")
	return inTime(e.send(stream, resp))
}

// limitTransfer cuts the call off if a transfer of the given number of bytes takes longer than grpcserver.TransferTime. The caller passes
// the error of the transfer to end, which returns this error, or a failure status if the call was cut off.
func limitTransfer(ctx context.Context, bytes int64, failure string) (end func(error) error) {
	within := grpcserver.TransferTime(bytes)
	stop := grpcserver.CutOff(ctx, within)
	return func(err error) error {
		if !stop() {
			return grpcserver.TooSlow(failure, within)
		}
		return err
	}
}

// header receives the first message of a request.
func (e *Evaluator) header(stream evaluateStream) (*evaluatorv1.EvaluateStreamHeader, error) {
	first, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	header := first.GetHeader()
	if header == nil {
		return nil, status.Error(codes.InvalidArgument, "header: the first message must have it")
	}
	if size := header.GetSizeBytes(); size > e.MaxListSize {
		return nil, status.Errorf(codes.ResourceExhausted, "the ResourceList is larger than max (%d vs. %d), see --max-resource-list-size",
			size, e.MaxListSize)
	}
	return header, nil
}

// receive receives the list of a request, which must have the announced size. The caller must have reserved the memory for it.
func receive(stream evaluateStream, size int64) ([]byte, error) {
	list := make([]byte, 0, size)
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if part.GetHeader() != nil {
			return nil, status.Error(codes.InvalidArgument, "header: only the first message may have it")
		}
		if list = append(list, part.GetChunk()...); int64(len(list)) > size {
			break
		}
	}
	if int64(len(list)) != size {
		return nil, status.Errorf(codes.InvalidArgument, "header.size_bytes: it is %d and %d bytes or more came", size, len(list))
	}
	return list, nil
}

// send sends the output in chunks, and then the report.
func (e *Evaluator) send(stream evaluateStream, resp evaluation.Response) error {
	for rest := resp.ResourceList; len(rest) > 0; {
		n := min(len(rest), chunkSize, max(e.MaxMessageSize/2, 1))
		part := &evaluatorv1.EvaluateStreamResponse{Part: &evaluatorv1.EvaluateStreamResponse_Chunk{Chunk: rest[:n]}}
		if err := stream.Send(part); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return stream.Send(&evaluatorv1.EvaluateStreamResponse{Part: &evaluatorv1.EvaluateStreamResponse_Evaluation{Evaluation: resp.Report}})
}
