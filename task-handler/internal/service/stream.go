// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/server/grpcserver"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/task-handler/internal/rendering"
)

// chunkSize is the maximum size of the part of a file in one message, in bytes.
const chunkSize = 256 << 10

type renderStream = grpc.BidiStreamingServer[taskhandlerv1.RenderStreamRequest, taskhandlerv1.RenderStreamResponse]

// RenderStream renders a package that the client sends in parts, and sends progress. It ends calls whose clients send or read more slowly than
// grpcserver.TransferTime allows.
func (h *TaskHandler) RenderStream(stream renderStream) error {
	options, files, reservation, err := h.admit(stream)
	if err != nil {
		return err
	}
	defer reservation.Release()
	defer h.Pressure.Hold(MemoryPerByte * reservation.Bytes())()
	// If the progress cannot be sent, ctx ends the render.
	sending, ctx := errgroup.WithContext(stream.Context())
	progress := newOutbox()
	sending.Go(func() error { return progress.sendTo(stream) })
	result, err := h.observed(ctx, rendering.Request{
		Files: files, WriteStatus: options.GetWriteStatus(), AllowDeletion: options.GetAllowDeletion(),
	}, progress)
	within := grpcserver.TransferTime(size(result.Changes))
	inTime := grpcserver.CutOff(stream.Context(), within)
	if unsent := sending.Wait(); err == nil {
		err = unsent
	}
	if err != nil {
		err = statusOf(err)
	} else {
		err = h.sendResult(stream, result)
	}
	if !inTime() {
		return grpcserver.TooSlow("the client did not read the response", within)
	}
	return err
}

// sendResult sends the changes and then the result.
func (h *TaskHandler) sendResult(stream renderStream, result rendering.Result) error {
	if err := h.sendChanges(stream, result.Changes); err != nil {
		return err
	}
	return stream.Send(&taskhandlerv1.RenderStreamResponse{Part: &taskhandlerv1.RenderStreamResponse_Result{Result: resultOf(result)}})
}

// size returns the size of the changed files in bytes.
func size(changes []packages.Change) (bytes int64) {
	for _, c := range changes {
		bytes += int64(len(c.After))
	}
	return bytes
}

// observed renders, and ends the progress afterwards.
func (h *TaskHandler) observed(ctx context.Context, req rendering.Request, progress *outbox) (rendering.Result, error) {
	defer progress.end()
	req.Observe = progress.add
	return h.Renderer(ctx, req)
}

// sendChanges sends the changed files in chunks.
func (h *TaskHandler) sendChanges(stream renderStream, changes []packages.Change) error {
	for _, c := range changes {
		for rest, first := c.After, true; first || len(rest) > 0; first = false {
			n := min(len(rest), chunkSize, max(h.MaxMessageSize/2, 1))
			part := &taskhandlerv1.Change{Path: c.Path, Content: rest[:n], Deleted: c.After == nil}
			if err := stream.Send(&taskhandlerv1.RenderStreamResponse{Part: &taskhandlerv1.RenderStreamResponse_Change{Change: part}}); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	return nil
}

// admit receives a request and reserves the memory for its render. The size of a package is unknown until it is complete. Therefore, the gate
// Receiving limits the number of packages that are being received or wait for memory. To avoid deadlocks, no call waits for the gate while it
// holds memory.
func (h *TaskHandler) admit(stream renderStream) (*taskhandlerv1.RenderOptions, []packages.File, *middleware.Reservation, error) {
	leave, _, err := h.Receiving.Enter(stream.Context())
	if err != nil {
		return nil, nil, nil, statusOf(err)
	}
	defer leave()
	within := grpcserver.TransferTime(h.MaxPackageSize)
	inTime := grpcserver.CutOff(stream.Context(), within)
	options, files, err := h.receive(stream)
	if !inTime() {
		err = grpcserver.TooSlow("the client did not send the package", within)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	reservation, err := h.Budget.Reserve(stream.Context(), weight(files))
	if err != nil {
		return nil, nil, nil, grpcserver.AdmissionStatus(err)
	}
	return options, files, reservation, nil
}

// receive receives the options and files of a request.
func (h *TaskHandler) receive(stream renderStream) (*taskhandlerv1.RenderOptions, []packages.File, error) {
	first, err := stream.Recv()
	if err != nil {
		return nil, nil, err
	}
	options := first.GetOptions()
	if options == nil {
		return nil, nil, status.Error(codes.InvalidArgument, "options: the first message must have them")
	}
	var files []packages.File
	for size := int64(0); ; {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return options, files, nil
		}
		if err != nil {
			return nil, nil, err
		}
		f := part.GetFile()
		if f == nil {
			return nil, nil, status.Error(codes.InvalidArgument, "options: only the first message may have them")
		}
		if size += int64(len(f.GetPath()) + len(f.GetContent())); size > h.MaxPackageSize {
			return nil, nil, status.Errorf(codes.ResourceExhausted, "the package is larger than max (%d vs. %d), see --max-package-size and the memory limit", size, h.MaxPackageSize)
		}
		if last := len(files) - 1; last >= 0 && files[last].Path == f.GetPath() {
			files[last].Content = append(files[last].Content, f.GetContent()...)
			continue
		}
		if len(files) == h.MaxFiles {
			return nil, nil, h.tooManyFiles(len(files) + 1)
		}
		files = append(files, packages.File{Path: f.GetPath(), Content: f.GetContent()})
	}
}
