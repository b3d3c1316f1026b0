// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// chunkSize is how much of an output goes into one message, where messages may be that long.
const chunkSize = 256 << 10

type evaluateStream = grpc.BidiStreamingServer[evaluatorv1.EvaluateStreamRequest, evaluatorv1.EvaluateStreamResponse]

// EvaluateStream evaluates a function over a list that comes in parts.
func (e *Evaluator) EvaluateStream(stream evaluateStream) error {
	image, list, err := e.receive(stream)
	if err != nil {
		return err
	}
	resp, err := e.Evaluator.Evaluate(stream.Context(), evaluation.Request{Image: image, ResourceList: list, MaxOutput: e.MaxListSize})
	if err != nil {
		return ErrorStatus(stream.Context(), image, err)
	}
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

// receive returns the image and the list of a request. The memory for the list is taken as it comes, not as it is
// announced.
func (e *Evaluator) receive(stream evaluateStream) (image string, list []byte, err error) {
	first, err := stream.Recv()
	if err != nil {
		return "", nil, err
	}
	header := first.GetHeader()
	if header == nil {
		return "", nil, status.Error(codes.InvalidArgument, "header: the first message must have it")
	}
	size := header.GetSizeBytes()
	if size > e.MaxListSize {
		return "", nil, status.Errorf(codes.ResourceExhausted, "the ResourceList is larger than max (%d vs. %d), see --max-resource-list-size",
			size, e.MaxListSize)
	}
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", nil, err
		}
		if part.GetHeader() != nil {
			return "", nil, status.Error(codes.InvalidArgument, "header: only the first message may have it")
		}
		if list = append(list, part.GetChunk()...); int64(len(list)) > size {
			break
		}
	}
	if int64(len(list)) != size {
		return "", nil, status.Errorf(codes.InvalidArgument, "header.size_bytes: it is %d and %d bytes or more came", size, len(list))
	}
	return header.GetImage(), list, nil
}
