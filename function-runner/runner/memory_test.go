// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

// Streams that exceed the budget together do not deadlock each other or other calls.
func TestStreamsShareBudget(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *options.Options) { o.Limits.MaxBytesInFlight = 300_000 })
	ctx := within(t, time.Minute)
	long := []byte(list + strings.Repeat("# twenty characters\n", 10_000))
	const streams, half = 5, 50_000 // the part that can be sent before the server reads it
	var begun sync.WaitGroup
	begun.Add(streams)
	send := func() error {
		stream, err := f.v1.EvaluateStream(ctx)
		if err != nil {
			return err
		}
		header := &evaluatorv1.EvaluateStreamHeader{Image: "echo:v1", SizeBytes: int64(len(long))}
		parts := []*evaluatorv1.EvaluateStreamRequest{{Part: &evaluatorv1.EvaluateStreamRequest_Header{Header: header}}}
		for chunk := range slices.Chunk(long, half) {
			parts = append(parts, &evaluatorv1.EvaluateStreamRequest{Part: &evaluatorv1.EvaluateStreamRequest_Chunk{Chunk: chunk}})
		}
		for i, part := range parts {
			if i == 2 {
				begun.Done()
				begun.Wait()
			}
			if err := stream.Send(part); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
		}
		if err := stream.CloseSend(); err != nil {
			return err
		}
		var got []byte
		for {
			part, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				if !bytes.Equal(got, long) {
					return fmt.Errorf("received %d bytes, want the %d bytes of the list", len(got), len(long))
				}
				return nil
			}
			if err != nil {
				return err
			}
			got = append(got, part.GetChunk()...)
		}
	}
	var calls sync.WaitGroup
	for range streams {
		calls.Go(func() {
			if err := send(); err != nil {
				t.Errorf("stream = %v, want nil", err)
			}
			if _, err := f.porch.EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: "echo:v1", ResourceList: []byte(list)}); err != nil {
				t.Errorf("EvaluateFunction() = %v, want nil", err)
			}
		})
	}
	calls.Wait()
}

// A function that needs more memory than available fails its call, with advice in the message.
func TestFunctionOutOfMemory(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	_, err := f.porch.EvaluateFunction(t.Context(), &evaluator.EvaluateFunctionRequest{Image: "hog:v1", ResourceList: []byte(list)})
	if text := status.Convert(err).Message(); status.Code(err) != codes.ResourceExhausted || !strings.Contains(text, "larger memory limit") {
		t.Errorf("EvaluateFunction() = %v, want ResourceExhausted with advice", err)
	}
	if _, err := f.porch.EvaluateFunction(t.Context(), &evaluator.EvaluateFunctionRequest{Image: "echo:v1", ResourceList: []byte(list)}); err != nil {
		t.Errorf("next EvaluateFunction() = %v, want nil", err)
	}
}
