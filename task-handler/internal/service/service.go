// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package service implements the gRPC service krmfn.taskhandler.v1.TaskHandlerService.
package service

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/internal/server/memory"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/taskhandler/v1/taskhandlerv1grpc"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/task-handler/internal/rendering"
)

// TaskHandler implements the service. Interceptors must have validated the requests.
type TaskHandler struct {
	taskhandlerv1grpc.UnimplementedTaskHandlerServiceServer
	// Renderer renders the packages of requests.
	Renderer rendering.Renderer
	// Budget is the memory budget for the packages of all calls. RenderStream reserves memory itself; for other calls, the server has reserved it.
	Budget *middleware.Budget
	// Pressure receives the memory that calls use.
	Pressure memory.Pressure
	// Receiving limits the number of packages that are being received. They have no part of the budget yet.
	Receiving *middleware.Gate
	// MaxPackageSize is the maximum size in bytes of a streamed package. MaxFiles is the maximum number of files of a package.
	MaxPackageSize int64
	MaxFiles       int
	// MaxMessageSize is the maximum size in bytes of a message.
	MaxMessageSize int
}

// Render renders a package.
func (h *TaskHandler) Render(ctx context.Context, req *taskhandlerv1.RenderRequest) (*taskhandlerv1.RenderResponse, error) {
	if n := len(req.GetFiles()); n > h.MaxFiles {
		return nil, h.tooManyFiles(n)
	}
	defer h.Pressure.Hold(MemoryPerByte * Weight(req))()
	result, err := h.Renderer(ctx, rendering.Request{
		Files: filesOf(req.GetFiles()), WriteStatus: req.GetOptions().GetWriteStatus(), AllowDeletion: req.GetOptions().GetAllowDeletion(),
	})
	if err != nil {
		return nil, statusOf(err)
	}
	resp := &taskhandlerv1.RenderResponse{Result: resultOf(result), Changes: changesOf(result.Changes)}
	if size := proto.Size(resp); size > h.MaxMessageSize {
		return nil, status.Errorf(codes.ResourceExhausted, "the response is larger than max (%d vs. %d), see "+
			"--max-request-body-size: call RenderStream, which sends large packages in parts", size, h.MaxMessageSize)
	}
	return resp, nil
}

func filesOf(messages []*taskhandlerv1.File) []packages.File {
	files := make([]packages.File, 0, len(messages))
	for _, f := range messages {
		files = append(files, packages.File{Path: f.GetPath(), Content: f.GetContent()})
	}
	return files
}

func changesOf(changes []packages.Change) []*taskhandlerv1.Change {
	list := make([]*taskhandlerv1.Change, 0, len(changes))
	for _, c := range changes {
		list = append(list, &taskhandlerv1.Change{Path: c.Path, Content: c.After, Deleted: c.After == nil})
	}
	return list
}

func (h *TaskHandler) tooManyFiles(n int) error {
	return status.Errorf(codes.ResourceExhausted, "the package has more files than max (%d vs. %d), see --max-package-files", n, h.MaxFiles)
}

// statusOf returns the gRPC status for an error of the renderer.
func statusOf(err error) error {
	var busy *evaluation.BusyError
	switch {
	case errors.As(err, new(*rendering.InputError)):
		if errors.As(err, new(*packagerevision.LifecycleError)) {
			return status.Error(codes.FailedPrecondition, err.Error())
		}
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.As(err, &busy):
		return grpcserver.Busy(fmt.Sprintf("%d renders run and %d wait already, try again later", busy.Running, busy.Waiting))
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, fmt.Sprintf("the render did not finish: %v", err))
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, new(*rendering.TimeoutError)):
		return status.Error(codes.DeadlineExceeded, fmt.Sprintf("the render did not finish: %v", err))
	}
	return status.Error(codes.Internal, fmt.Sprintf("the package was not rendered: %v", err))
}
