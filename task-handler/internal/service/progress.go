// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/render"
)

// progressOf returns what clients are told of an event; nil for one that they do not know.
func progressOf(event render.Event) *taskhandlerv1.Progress {
	switch e := event.(type) {
	case *render.Started:
		return started(e)
	case *render.PackageStarted:
		return &taskhandlerv1.Progress{Event: &taskhandlerv1.Progress_PackageStarted{PackageStarted: &taskhandlerv1.PackageStarted{
			Package: e.Package, Resources: number(e.Resources),
		}}}
	case *render.PackageFinished:
		finished := &taskhandlerv1.PackageFinished{Package: e.Package}
		if e.Err != nil {
			finished.Error = valid(e.Err.Error())
		}
		return &taskhandlerv1.Progress{Event: &taskhandlerv1.Progress_PackageFinished{PackageFinished: finished}}
	case *render.FunctionStarted:
		return &taskhandlerv1.Progress{Event: &taskhandlerv1.Progress_FunctionStarted{FunctionStarted: &taskhandlerv1.FunctionStarted{
			Function: function(&e.Function), Resources: number(e.Resources), Selected: e.Selected,
		}}}
	case *render.FunctionFinished:
		return &taskhandlerv1.Progress{Event: &taskhandlerv1.Progress_FunctionFinished{FunctionFinished: &taskhandlerv1.FunctionFinished{
			Function: function(&e.Function), Result: functionResult(&e.Function.Result),
		}}}
	}
	return nil
}

func started(e *render.Started) *taskhandlerv1.Progress {
	s := &taskhandlerv1.RenderStarted{}
	for _, p := range e.Packages {
		s.Packages = append(s.Packages, &taskhandlerv1.PlannedPackage{
			Package: p.Package, Depth: number(p.Depth), Functions: number(p.Functions),
		})
	}
	return &taskhandlerv1.Progress{Event: &taskhandlerv1.Progress_Started{Started: s}}
}
