// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"
	"path"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/packagerevision/packagecontext"
	"github.com/krmfn/krmfn/services/render/kptfile"
	"github.com/krmfn/krmfn/services/render/renderstatus"
	"github.com/krmfn/krmfn/task-handler/internal/rendering"
)

// ApplyTask creates a package revision.
func (h *TaskHandler) ApplyTask(ctx context.Context, req *taskhandlerv1.ApplyTaskRequest) (*taskhandlerv1.ApplyTaskResponse, error) {
	revision := revisionOf(req.GetRevision())
	tasks, files, err := tasksOf(req.GetTask(), revision.Context.Path)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	operation := rendering.Operation{Name: "apply task", Do: func(ctx context.Context, handler *packagerevision.Handler, draft packagerevision.Draft) (*renderstatus.Report, error) {
		return handler.ApplyTask(ctx, draft, revision, tasks)
	}}
	outcome, err := h.handleDraft(ctx, req, &operation, files)
	if err != nil {
		return nil, err
	}
	return &taskhandlerv1.ApplyTaskResponse{Outcome: outcome}, nil
}

// PatchKptfile patches the Kptfile of a revision.
func (h *TaskHandler) PatchKptfile(ctx context.Context, req *taskhandlerv1.PatchKptfileRequest) (*taskhandlerv1.PatchKptfileResponse, error) {
	revision := revisionOf(req.GetRevision())
	operation := rendering.Operation{Name: "patch Kptfile", Do: func(ctx context.Context, handler *packagerevision.Handler, draft packagerevision.Draft) (*renderstatus.Report, error) {
		return handler.PatchKptfile(ctx, draft, revision, revision)
	}}
	outcome, err := h.handleDraft(ctx, req, &operation, 0)
	if err != nil {
		return nil, err
	}
	return &taskhandlerv1.PatchKptfileResponse{Outcome: outcome}, nil
}

// ReplaceResources replaces the files of a revision.
func (h *TaskHandler) ReplaceResources(ctx context.Context, req *taskhandlerv1.ReplaceResourcesRequest) (*taskhandlerv1.ReplaceResourcesResponse, error) {
	revision := revisionOf(req.GetRevision())
	resources, err := rendering.ByPath(filesOf(req.GetResources()))
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "resources: %v", err)
	}
	operation := rendering.Operation{Name: "replace resources", Do: func(ctx context.Context, handler *packagerevision.Handler, draft packagerevision.Draft) (*renderstatus.Report, error) {
		return handler.ReplaceResources(ctx, draft, revision, resources)
	}}
	outcome, err := h.handleDraft(ctx, req, &operation, len(resources))
	if err != nil {
		return nil, err
	}
	return &taskhandlerv1.ReplaceResourcesResponse{Outcome: outcome}, nil
}

// draftRequest is implemented by the requests of all operations.
type draftRequest interface {
	proto.Message
	GetOptions() *taskhandlerv1.RenderOptions
	GetFiles() []*taskhandlerv1.File
}

// handleDraft performs an operation on the draft of a request. further is the number of files outside of the draft.
func (h *TaskHandler) handleDraft(ctx context.Context, req draftRequest, operation *rendering.Operation, further int) (*taskhandlerv1.DraftOutcome, error) {
	if n := max(len(req.GetFiles()), further); n > h.MaxFiles {
		return nil, h.tooManyFiles(n)
	}
	defer h.Pressure.Hold(MemoryPerByte * Weight(req))()
	result, err := h.Renderer(ctx, rendering.Request{
		Files: filesOf(req.GetFiles()), Operation: operation, WriteStatus: req.GetOptions().GetWriteStatus(), AllowDeletion: req.GetOptions().GetAllowDeletion(),
	})
	if err != nil {
		return nil, statusOf(err)
	}
	outcome := &taskhandlerv1.DraftOutcome{Action: actions[result.Action], Changes: changesOf(result.Changes)}
	if result.Package != "" || result.Failure != nil {
		outcome.Result = resultOf(result)
	}
	if result.Failure != nil {
		outcome.Error = validUTF8(result.Failure.Error())
	}
	// The field of the response adds a few bytes.
	const fieldBytes = 16
	if size := proto.Size(outcome) + fieldBytes; size > h.MaxMessageSize {
		return nil, status.Errorf(codes.ResourceExhausted, "the response is larger than max (%d vs. %d), see --max-request-body-size", size, h.MaxMessageSize)
	}
	return outcome, nil
}

// actions maps actions to their messages.
var actions = map[rendering.Action]taskhandlerv1.DraftAction{
	rendering.Close:   taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE,
	rendering.Keep:    taskhandlerv1.DraftAction_DRAFT_ACTION_KEEP,
	rendering.Leave:   taskhandlerv1.DraftAction_DRAFT_ACTION_LEAVE,
	rendering.Discard: taskhandlerv1.DraftAction_DRAFT_ACTION_DISCARD,
}

// tasksOf returns the tasks of a request, at most one, and the number of files of the task. at is the path of the package.
func tasksOf(t *taskhandlerv1.Task, at string) ([]packagerevision.Task, int, error) {
	var kind packagerevision.TaskType
	var files *taskhandlerv1.FilesTask
	switch t := t.GetTask().(type) {
	case nil:
		return nil, 0, nil
	case *taskhandlerv1.Task_Init:
		i := packagerevision.Init{Name: t.Init.GetName(), Description: t.Init.GetDescription(), Keywords: t.Init.GetKeywords(), Site: t.Init.GetSite()}
		if i.Name == "" && at != "" {
			i.Name = path.Base(at)
		}
		return []packagerevision.Task{{Type: packagerevision.TaskInit, Mutation: i.Mutate}}, 0, nil
	case *taskhandlerv1.Task_Clone:
		kind, files = packagerevision.TaskClone, t.Clone
	case *taskhandlerv1.Task_Edit:
		kind, files = packagerevision.TaskEdit, t.Edit
	case *taskhandlerv1.Task_Upgrade:
		kind, files = packagerevision.TaskUpgrade, t.Upgrade
	}
	byPath, err := rendering.ByPath(filesOf(files.GetFiles()))
	if err != nil {
		return nil, 0, fmt.Errorf("task.%s.files: %w", kind, err)
	}
	return []packagerevision.Task{{Type: kind, Mutation: packagerevision.Edit(byPath)}}, len(byPath), nil
}

// revisionOf returns the revision of a request.
func revisionOf(r *taskhandlerv1.Revision) packagerevision.Revision {
	at := r.GetContext()
	return packagerevision.Revision{
		Lifecycle: packagerevision.Lifecycle(r.GetLifecycle()), Annotations: r.GetAnnotations(), Kptfile: patchOf(r.GetKptfile()),
		Context: packagecontext.Context{
			Path: at.GetPath(), Repository: at.GetRepository(), Namespace: at.GetNamespace(), Deployment: at.GetDeployment(),
		},
	}
}

// patchOf returns the patch of a Kptfile. Absent fields are nil, and empty ones are not.
func patchOf(p *taskhandlerv1.KptfilePatch) kptfile.Patch {
	patch := kptfile.Patch{Labels: stringsOf(p.GetLabels()), Annotations: stringsOf(p.GetAnnotations())}
	if gates := p.GetReadinessGates(); gates != nil {
		patch.ReadinessGates = []kptfilev1.ReadinessGate{}
		for _, g := range gates.GetItems() {
			patch.ReadinessGates = append(patch.ReadinessGates, kptfilev1.ReadinessGate{ConditionType: g.GetConditionType()})
		}
	}
	if conditions := p.GetConditions(); conditions != nil {
		patch.Conditions = []kptfilev1.Condition{}
		for _, c := range conditions.GetItems() {
			patch.Conditions = append(patch.Conditions, kptfilev1.Condition{
				Type: c.GetType(), Status: kptfilev1.ConditionStatus(c.GetStatus()), Reason: c.GetReason(), Message: c.GetMessage(),
			})
		}
	}
	return patch
}

// stringsOf returns nil only for an absent field.
func stringsOf(s *taskhandlerv1.Strings) map[string]string {
	if s == nil {
		return nil
	}
	if s.GetValues() == nil {
		return map[string]string{}
	}
	return s.GetValues()
}
