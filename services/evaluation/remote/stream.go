// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// chunkSize is the size in bytes of a chunk of a streamed list, if the message limit allows it.
const chunkSize = 256 << 10

type evaluateStream = grpc.BidiStreamingClient[evaluatorv1.EvaluateStreamRequest, evaluatorv1.EvaluateStreamResponse]

// stream sends the list in chunks and joins the chunks of the output.
func (c *Client) stream(ctx context.Context, req evaluation.Request, from *peer.Peer) (evaluation.Response, error) {
	// Cancelling releases the stream on every return.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.v1.EvaluateStream(ctx, c.callOptions()...)
	if err != nil {
		return evaluation.Response{}, err
	}
	// Send returns io.EOF if the runner has already responded. Receive then returns the reason.
	if err := c.send(stream, req); err != nil && !errors.Is(err, io.EOF) {
		return evaluation.Response{}, err
	}
	list, report, err := c.receive(stream, req)
	// grpc.Peer sets the peer only at the end of the stream, which may be after this function returns.
	if answered, ok := peer.FromContext(stream.Context()); ok { //nolint:contextcheck // it is derived from ctx
		*from = *answered
	}
	if err != nil {
		return evaluation.Response{}, err
	}
	return checkedResponse(list, report)
}

func (c *Client) send(stream evaluateStream, req evaluation.Request) error {
	header := &evaluatorv1.EvaluateStreamHeader{Image: req.Image, SizeBytes: int64(len(req.ResourceList))}
	err := stream.Send(&evaluatorv1.EvaluateStreamRequest{Part: &evaluatorv1.EvaluateStreamRequest_Header{Header: header}})
	for rest := req.ResourceList; err == nil && len(rest) > 0; {
		n := min(len(rest), chunkSize, max(c.limits.MaxMessageSize/2, 1))
		err = stream.Send(&evaluatorv1.EvaluateStreamRequest{Part: &evaluatorv1.EvaluateStreamRequest_Chunk{Chunk: rest[:n]}})
		rest = rest[n:]
	}
	if err != nil {
		return err
	}
	return stream.CloseSend()
}

func (c *Client) receive(stream evaluateStream, req evaluation.Request) (list []byte, report *evaluationv1.Evaluation, err error) {
	limit := c.limits.MaxListSize
	if req.MaxOutput > 0 {
		limit = min(limit, req.MaxOutput)
	}
	for report == nil {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		list, report = append(list, part.GetChunk()...), part.GetEvaluation()
		if size := int64(len(list)); size > limit {
			return nil, nil, &SizeError{Image: req.Image, Size: size, Limit: limit, Flag: "--max-resource-list-size"}
		}
	}
	// No message follows the evaluation. Waiting for the end of the stream lets the runner's handler return before it is
	// cancelled.
	if _, err := stream.Recv(); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	return list, report, nil
}
