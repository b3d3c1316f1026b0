// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/render/kptfile"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// handledErrorMessage is kpt's message in the condition for a function that failed with an exit code. The steps have the
// function's own messages.
const handledErrorMessage = "already handled error"

// writeStatus writes the result to the root Kptfile of the output, like kpt. It does nothing if functions have deleted the
// Kptfile or made it invalid.
func (r *Result) writeStatus(root *node, out outcome) {
	output, err := r.Tree.EditKptfile(r.Output, root.pkg, func(kf *yaml.RNode) error {
		return kptfile.SetRendered(kf, condition(root, out.err), kptfileStatus(out.functions))
	})
	if err == nil {
		r.Output = output
	}
}

func condition(root *node, err error) kptfilev1.Condition {
	if err == nil {
		return kptfilev1.NewRenderedCondition(kptfilev1.ConditionTrue, kptfilev1.ReasonRenderSuccess, "")
	}
	return kptfilev1.NewRenderedCondition(kptfilev1.ConditionFalse, kptfilev1.ReasonRenderFailed, conditionMessage(root.location, err))
}

// conditionMessage formats an error with paths relative to the root package, so that the message does not depend on the
// package's location.
func conditionMessage(root string, err error) string {
	w := wording{
		location: func(location string) string {
			if location == root {
				return "."
			}
			return "./" + strings.TrimPrefix(strings.TrimPrefix(location, root), "/")
		},
		cause: func(err error) string {
			if failed, ok := errors.AsType[*FunctionError](err); ok && renderstatus.Exited(failed.Report.GetFailure().GetReason()) {
				return handledErrorMessage
			}
			// Replacing "/" would remove the slashes from all paths.
			if root == "/" {
				return err.Error()
			}
			return relative(err.Error(), root)
		},
	}
	if level, ok := errors.AsType[*Error](err); ok {
		return level.text("", "", w)
	}
	return w.cause(err)
}

// relative replaces a directory's path in a text with a dot, except where the path is part of a longer name.
func relative(text, dir string) string {
	var out strings.Builder
	rest := text
	for {
		before, after, found := strings.Cut(rest, dir)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		so := text[:len(text)-len(after)-len(dir)]
		last, _ := utf8.DecodeLastRuneInString(so)
		next, _ := utf8.DecodeRuneInString(strings.TrimLeft(after, "."))
		if so != "" && inName(last) || after != "" && after[0] != '/' && inName(next) {
			out.WriteString(dir)
		} else {
			out.WriteByte('.')
		}
		rest = after
	}
}

// inName reports whether a character next to a path may be part of the path.
func inName(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./~@%+", r)
}

// kptfileStatus returns the status.renderStatus that kpt writes to the root Kptfile; nil if no function was due. The steps of
// parkAll packages are in one list in run order.
func kptfileStatus(functions []renderstatus.Function) *kptfilev1.RenderStatus {
	if len(functions) == 0 {
		return nil
	}
	status := &kptfilev1.RenderStatus{}
	for i := range functions {
		s := stepResult(&functions[i])
		if functions[i].Validator {
			status.ValidationSteps = append(status.ValidationSteps, s)
		} else {
			status.MutationSteps = append(status.MutationSteps, s)
		}
	}
	status.ErrorSummary = strings.Join(append(summaries(status.MutationSteps), summaries(status.ValidationSteps)...), "\n")
	return status
}

func stepResult(f *renderstatus.Function) kptfilev1.PipelineStepResult {
	entry := f.Entry()
	s := kptfilev1.PipelineStepResult{
		Name: f.Name, Image: f.Image, ExecPath: f.Exec, Stderr: f.Stderr, ExitCode: f.ExitCode, Results: entry.Results,
	}
	if f.Error != "" && (!f.Ran || f.Rejected || !exitCodeOnly(f.Reason)) {
		s.ExecutionError, s.ExitCode = f.Error, 1
	}
	for _, r := range f.Results {
		if r.Severity == framework.Error {
			s.ErrorResults = append(s.ErrorResults, r)
		}
	}
	return s
}

// exitCodeOnly reports whether kpt describes a failure by its exit code alone. kpt also does so for programs that could not be
// started.
func exitCodeOnly(reason evaluationv1.FailureReason) bool {
	return renderstatus.Exited(reason) || reason == evaluationv1.FailureReason_FAILURE_REASON_START
}

func summaries(steps []kptfilev1.PipelineStepResult) []string {
	var lines []string
	for i := range steps {
		s := &steps[i]
		name := cmp.Or(s.Name, s.Image, s.ExecPath)
		switch {
		case s.ExecutionError != "":
			lines = append(lines, name+": "+s.ExecutionError)
		case s.ExitCode != 0:
			lines = append(lines, fmt.Sprintf("%s: exit code %d", name, s.ExitCode))
		}
	}
	return lines
}
