// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package renderstatus

import (
	"fmt"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// ForKptfile returns the status.renderStatus that kpt writes to the root Kptfile after functions have run; nil when none
// was come to. The steps of all packages are in one list, in the order in which they ran.
func ForKptfile(functions []Function) *kptfilev1.RenderStatus {
	if len(functions) == 0 {
		return nil
	}
	status := &kptfilev1.RenderStatus{}
	for i := range functions {
		s := step(&functions[i])
		if functions[i].Validator {
			status.ValidationSteps = append(status.ValidationSteps, s)
		} else {
			status.MutationSteps = append(status.MutationSteps, s)
		}
	}
	status.ErrorSummary = strings.Join(append(summaries(status.MutationSteps), summaries(status.ValidationSteps)...), "\n")
	return status
}

func step(f *Function) kptfilev1.PipelineStepResult {
	s := kptfilev1.PipelineStepResult{
		Name: f.Name, Image: f.Image, ExecPath: f.Exec, Stderr: f.Stderr, ExitCode: f.ExitCode, Results: f.Results,
	}
	if f.Error != "" && (!f.Ran || f.Rejected || !told(f.Reason)) {
		s.ExecutionError, s.ExitCode = f.Error, 1
	}
	for _, r := range f.Results {
		if r.Severity == framework.Error {
			s.ErrorResults = append(s.ErrorResults, r)
		}
	}
	return s
}

// told tells whether kpt leaves it at the exit code, which it also does of programs that could not be started.
func told(reason evaluationv1.FailureReason) bool {
	return Exited(reason) || reason == evaluationv1.FailureReason_FAILURE_REASON_START
}

func summaries(steps []kptfilev1.PipelineStepResult) []string {
	var lines []string
	for i := range steps {
		s := &steps[i]
		name := s.Name
		if name == "" {
			name = s.Image
		}
		if name == "" {
			name = s.ExecPath
		}
		switch {
		case s.ExecutionError != "":
			lines = append(lines, name+": "+s.ExecutionError)
		case s.ExitCode != 0:
			lines = append(lines, fmt.Sprintf("%s: exit code %d", name, s.ExitCode))
		}
	}
	return lines
}
