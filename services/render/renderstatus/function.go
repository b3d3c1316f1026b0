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

// Function is a function of a pipeline and the outcome of its run.
type Function struct {
	// Package is the directory of the function's package in the rendered tree; "." for the root.
	Package string `json:"package" yaml:"package"`
	// Validator is true for validators, false for mutators.
	Validator bool `json:"validator,omitempty" yaml:"validator,omitempty"`
	// Index is the position, from 0, among the mutators or validators of its Kptfile.
	Index int `json:"index" yaml:"index"`
	// Name is the function's name in the Kptfile; may be empty.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Ran reports whether the function ran. If not, Error has the reason.
	Ran bool `json:"ran" yaml:"ran"`
	// Result is the function's item in the result list.
	Result `json:",inline" yaml:",inline"`
	// Error is the reason why the function failed or did not run; "" on success.
	Error string `json:"error,omitempty" yaml:"error,omitempty"`
	// Reason is the kind of failure, if the evaluator reported one.
	Reason evaluationv1.FailureReason `json:"-" yaml:"-"`
	// Rejected reports that the function succeeded but its output could not be used.
	Rejected bool `json:"rejected,omitempty" yaml:"rejected,omitempty"`

	// Evaluator is the kind of evaluator that ran the function: "builtin", "exec", "pod", "sandbox", "engine"; "" if unknown.
	Evaluator string `json:"evaluator,omitempty" yaml:"evaluator,omitempty"`
	// Implementation names what the evaluator ran, for display: the program's name and version, or the pod's name.
	Implementation string `json:"implementation,omitempty" yaml:"implementation,omitempty"`
	// Warning tells users that the version that ran differs from the version in the image's tag; "" if it does not.
	Warning string `json:"warning,omitempty" yaml:"warning,omitempty"`
	// Unmatched has a warning for each selector or exclusion that matched no resource, such as "selector 1 (kind=Deploy)
	// matches no resource".
	Unmatched []string `json:"unmatched,omitempty" yaml:"unmatched,omitempty"`
	// Digest is the digest of the image that ran; "" if the evaluator used no image.
	Digest string `json:"digest,omitempty" yaml:"digest,omitempty"`
	// Duration is the duration of the evaluation as measured by the caller.
	Duration Duration `json:"duration,omitempty" yaml:"duration,omitempty"`
}

// Duration is a time.Duration that is encoded as text, such as "1.5s".
type Duration time.Duration

// MarshalText returns the duration in the format of time.Duration.String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText parses the format of time.ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// Title returns the function's name for messages: its image or its command line.
func (f *Function) Title() string {
	if f.Image != "" {
		return f.Image
	}
	return f.Exec
}

// Entry returns the function's entry for result lists in kpt's formats, which have no field for the implementation. If the
// image's tag is a version and another version ran, the entry's results end with a warning. Tags such as "latest" name no
// version, so there is no warning for them.
func (f *Function) Entry() Result {
	entry := f.Result
	if f.Warning != "" && reference.NamesVersion(f.Image) {
		warning := fnresultv1.ResultItem{Message: f.Warning, Severity: framework.Warning}
		entry.Results = append(slices.Clip(entry.Results), warning)
	}
	return entry
}

// Exited reports whether the exit code describes a failure of this kind, that is, whether the function's process exited or was
// ended by a signal. For other failures, a status has exit code 1, as in kpt, and the message describes the failure.
func Exited(reason evaluationv1.FailureReason) bool {
	switch reason {
	case evaluationv1.FailureReason_FAILURE_REASON_UNSPECIFIED, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE,
		evaluationv1.FailureReason_FAILURE_REASON_SIGNAL:
		return true
	default:
		return false
	}
}

// SetReport sets the fields that an evaluation reports, and marks the function as run. Failures that are not described by an
// exit code get exit code 1; see Exited.
func (f *Function) SetReport(report *evaluationv1.Evaluation) {
	f.Ran = true
	f.Stderr = stderr(report)
	// For images, kpt joins the lines of the container engine's output, which drops the last line end.
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

// SetFailure records why the function failed. It sets the exit code to 1 if it was 0.
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

// EvaluatorName returns the name of an evaluator; "" if unknown.
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

// Items converts results from the evaluator's API to kpt's. It copies severities unchanged. Values stay strings, because a
// number in a status would break readers that expect strings.
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
