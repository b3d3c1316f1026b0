// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package renderstatus

import (
	"fmt"
	"slices"
	"strings"
	"time"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Function is one function of a pipeline and how it was run.
type Function struct {
	// Package is the directory of the function's package in the tree that is rendered; "." for its root.
	Package string `json:"package" yaml:"package"`
	// Validator tells validators from mutators.
	Validator bool `json:"validator,omitempty" yaml:"validator,omitempty"`
	// Index is the function's place among the mutators, or validators, of its Kptfile, from 0.
	Index int `json:"index" yaml:"index"`
	// Name is the name that the Kptfile gives the function; may be empty.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Ran tells whether the function ran. One that did not has an Error.
	Ran bool `json:"ran" yaml:"ran"`
	// Result is the function's item in the result list.
	Result `json:",inline" yaml:",inline"`
	// Error is why the function failed, or did not run; "" when it succeeded.
	Error string `json:"error,omitempty" yaml:"error,omitempty"`
	// Reason is the kind of its failure, where it failed by itself.
	Reason evaluationv1.FailureReason `json:"-" yaml:"-"`
	// Rejected tells that the function itself succeeded and that its output could not be used.
	Rejected bool `json:"rejected,omitempty" yaml:"rejected,omitempty"`

	// Evaluator is what ran it: "builtin", "exec", "pod", "sandbox", "engine"; "" when that is not known.
	Evaluator string `json:"evaluator,omitempty" yaml:"evaluator,omitempty"`
	// Implementation is what the evaluator ran, for people: name and version of the program, or the name of the pod.
	Implementation string `json:"implementation,omitempty" yaml:"implementation,omitempty"`
	// Warning is what users must know though the function ran: that it has another version than its image's tag names. It is ""
	// when there is nothing of the kind.
	Warning string `json:"warning,omitempty" yaml:"warning,omitempty"`
	// Unmatched are warnings of selectors and exclusions that matched no resource, one each: "selector 1 (kind=Deploy) matches no
	// resource".
	Unmatched []string `json:"unmatched,omitempty" yaml:"unmatched,omitempty"`
	// Digest is the digest of the image that ran; "" when none was involved.
	Digest string `json:"digest,omitempty" yaml:"digest,omitempty"`
	// Duration is how long the evaluation took, from the caller's side.
	Duration Duration `json:"duration,omitempty" yaml:"duration,omitempty"`
}

// Duration is a time.Duration that is written as Go writes one, such as "1.5s".
type Duration time.Duration

// MarshalText returns the duration in Go's form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads Go's form.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// Title is what the function is called in messages: its image, or its command line.
func (f *Function) Title() string {
	if f.Image != "" {
		return f.Image
	}
	return f.Exec
}

// Entry returns the function's entry in the lists of results that kpt's formats have. These have no field for the implementation:
// where the image's tag is a version, a warning of another one that ran stands behind the function's own results. Tags such as
// "latest" name none, and leave the entry as kpt has it.
func (f *Function) Entry() Result {
	entry := f.Result
	if f.Warning != "" && reference.NamesVersion(f.Image) {
		warning := fnresultv1.ResultItem{Message: f.Warning, Severity: framework.Warning}
		entry.Results = append(slices.Clip(entry.Results), warning)
	}
	return entry
}

// Exited tells of a kind of failure whether the exit code says it: the function ended by itself, or by a signal. Other failures
// have exit code 1 in a status, as kpt has it, and people are told of them in words.
func Exited(reason evaluationv1.FailureReason) bool {
	switch reason {
	case evaluationv1.FailureReason_FAILURE_REASON_UNSPECIFIED, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE,
		evaluationv1.FailureReason_FAILURE_REASON_SIGNAL:
		return true
	default:
		return false
	}
}

// SetReport fills in what an evaluation reports. The function counts as run. A failure that no exit code says gets exit code 1;
// see Exited.
func (f *Function) SetReport(report *evaluationv1.Evaluation) {
	f.Ran = true
	f.Stderr = stderr(report)
	// kpt runs images in a container engine, of whose output it joins the lines.
	if f.Exec == "" {
		f.Stderr = strings.TrimSuffix(f.Stderr, "\n")
	}
	f.ExitCode = int(report.GetExitCode())
	f.Results = Items(report.GetResults())
	f.Evaluator = EvaluatorName(report.GetEvaluator())
	f.Implementation = report.GetImplementation()
	f.Warning = report.GetWarning()
	f.Digest = report.GetDigest()
	failure := report.GetFailure()
	if failure == nil {
		return
	}
	f.Reason = failure.GetReason()
	if !Exited(f.Reason) {
		f.ExitCode = 1
	}
	f.SetFailure(failure.GetMessage())
}

// SetFailure notes why the function failed.
func (f *Function) SetFailure(message string) {
	f.Error = message
	if f.ExitCode == 0 {
		f.ExitCode = 1
	}
}

func stderr(report *evaluationv1.Evaluation) string {
	text := strings.ToValidUTF8(string(report.GetStderr()), "\uFFFD")
	if n := report.GetStderrDroppedBytes(); n > 0 {
		return fmt.Sprintf("[%d bytes before this are left out] %s", n, text)
	}
	return text
}

// EvaluatorName returns the word for an evaluator; "" if it is not known.
func EvaluatorName(e evaluationv1.Evaluator) string {
	switch e {
	case evaluationv1.Evaluator_EVALUATOR_BUILTIN:
		return "builtin"
	case evaluationv1.Evaluator_EVALUATOR_EXEC:
		return "exec"
	case evaluationv1.Evaluator_EVALUATOR_POD:
		return "pod"
	case evaluationv1.Evaluator_EVALUATOR_SANDBOX:
		return "sandbox"
	case evaluationv1.Evaluator_EVALUATOR_ENGINE:
		return "engine"
	default:
		return ""
	}
}

// Items converts results as evaluators report them into those of kpt's API. Severities are passed on as they are, and
// values have been strings all the way: a number among them must not make a status unreadable for its readers.
func Items(results []*evaluationv1.Result) []fnresultv1.ResultItem {
	if len(results) == 0 {
		return nil
	}
	items := make([]fnresultv1.ResultItem, 0, len(results))
	for _, r := range results {
		items = append(items, fnresultv1.ResultItem{
			Message:     r.GetMessage(),
			Severity:    framework.Severity(r.GetSeverity()),
			ResourceRef: resourceRef(r.GetResourceRef()),
			Field:       field(r.GetField()),
			File:        file(r.GetFile()),
			Tags:        r.GetTags(),
		})
	}
	return items
}

func resourceRef(ref *evaluationv1.ResourceRef) *yaml.ResourceIdentifier {
	if ref == nil {
		return nil
	}
	return &yaml.ResourceIdentifier{
		TypeMeta: yaml.TypeMeta{APIVersion: ref.GetApiVersion(), Kind: ref.GetKind()},
		NameMeta: yaml.NameMeta{Name: ref.GetName(), Namespace: ref.GetNamespace()},
	}
}

func field(f *evaluationv1.Field) *fnresultv1.Field {
	if f == nil {
		return nil
	}
	return &fnresultv1.Field{Path: f.GetPath(), CurrentValue: f.GetCurrentValue(), ProposedValue: f.GetProposedValue()}
}

func file(f *evaluationv1.File) *framework.File {
	if f == nil {
		return nil
	}
	return &framework.File{Path: f.GetPath(), Index: int(f.GetIndex())}
}
