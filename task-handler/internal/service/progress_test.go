// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"

	"github.com/krmfn/krmfn/internal/middleware"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/task-handler/internal/rendering"
)

// slowReader is a client that sends options and no files, and reads nothing until the test allows it.
type slowReader struct {
	grpc.ServerStream
	ctx      context.Context //nolint:containedctx // the context of a stream
	received int
	reads    chan struct{}
	fails    error
	got      []*taskhandlerv1.RenderStreamResponse
}

func (s *slowReader) Context() context.Context { return s.ctx }

func (s *slowReader) Recv() (*taskhandlerv1.RenderStreamRequest, error) {
	if s.received++; s.received > 1 {
		return nil, io.EOF
	}
	return &taskhandlerv1.RenderStreamRequest{Part: &taskhandlerv1.RenderStreamRequest_Options{Options: &taskhandlerv1.RenderOptions{}}}, nil
}

func (s *slowReader) Send(part *taskhandlerv1.RenderStreamResponse) error {
	<-s.reads
	s.got = append(s.got, part)
	return s.fails
}

// A render does not wait for a client that reads progress slowly.
func TestSlowReadersHoldNoRender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rendered := false
		h := &TaskHandler{
			Budget: middleware.NewBudget(1, 1), Receiving: middleware.NewGate(1, 1), MaxPackageSize: 1, MaxFiles: 1, MaxMessageSize: 1,
			Renderer: func(_ context.Context, req rendering.Request) (rendering.Result, error) {
				for range 3 {
					req.Observe(&render.PackageStarted{})
				}
				rendered = true
				return rendering.Result{}, nil
			},
		}
		stream := &slowReader{ctx: t.Context(), reads: make(chan struct{})}
		ended := make(chan error, 1)
		go func() { ended <- h.RenderStream(stream) }()
		synctest.Wait()
		if !rendered {
			t.Error("the render waits for its client")
		}
		close(stream.reads)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if n := len(stream.got); n != 4 || stream.got[2].GetProgress() == nil || stream.got[3].GetResult() == nil {
			t.Errorf("client received %v, want three progress messages and the result", stream.got)
		}
	})
}

// A render ends if its progress cannot be sent.
func TestRenderEndsWhenClientIsGone(t *testing.T) {
	t.Parallel()
	gone := errors.New("the client is gone")
	var cause error
	h := &TaskHandler{
		Budget: middleware.NewBudget(1, 1), Receiving: middleware.NewGate(1, 1), MaxPackageSize: 1, MaxFiles: 1, MaxMessageSize: 1,
		Renderer: func(ctx context.Context, req rendering.Request) (rendering.Result, error) {
			req.Observe(&render.PackageStarted{})
			<-ctx.Done()
			cause = context.Cause(ctx)
			return rendering.Result{}, cause
		},
	}
	stream := &slowReader{ctx: t.Context(), reads: make(chan struct{}), fails: gone}
	close(stream.reads)
	if err := h.RenderStream(stream); err == nil || !errors.Is(cause, gone) {
		t.Errorf("RenderStream() = %v, cause of the render's end = %v", err, cause)
	}
}
