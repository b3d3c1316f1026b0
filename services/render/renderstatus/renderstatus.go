// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package renderstatus has the types that describe the outcome of a render: Porch's RenderStatus (porch.kpt.dev/v1alpha1, in
// JSON), the kpt FunctionResultList in it, and details of each function's run.
//
// Callers of render.Package get a [Report]. Its [RenderStatus] is the part that Porch's API has, and Report.Functions describes
// each function of the pipelines: the implementation that ran, its duration, and why it failed.
package renderstatus

import (
	"fmt"
	"slices"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// RenderStatus is the render status of PackageRevisionResources in Porch's API.
type RenderStatus struct {
	// Result lists the functions; nil if the render ended before any function was due.
	Result *ResultList `json:"result,omitempty" yaml:"result,omitempty"`
	// Error is the message of the error that ended the render; "" on success.
	Error string `json:"error" yaml:"error"`
}

// ResultList is a kpt.dev/v1 FunctionResultList.
type ResultList struct {
	yaml.ResourceMeta `json:",inline" yaml:",inline"`
	// ExitCode is 1 if the render failed, otherwise 0.
	ExitCode int `json:"exitCode" yaml:"exitCode"`
	// Items has a result for each function that was due, in order. This includes functions that could not run and functions
	// whose output was rejected.
	Items []Result `json:"items,omitempty" yaml:"items,omitempty"`
}

// Result is the result of one function. Either Image or Exec is set.
type Result struct {
	// Image is the resolved image.
	Image string `json:"image,omitempty" yaml:"image,omitempty"`
	// Exec is the full command line.
	Exec string `json:"exec,omitempty" yaml:"exec,omitempty"`
	// Stderr is the function's standard error.
	Stderr string `json:"stderr,omitempty" yaml:"stderr,omitempty"`
	// ExitCode is 0 if and only if the function succeeded. It is -1 if a signal ended the function, and 1 if the failure has no
	// exit code of its own, for example if the function was not found or its output was rejected.
	ExitCode int `json:"exitCode" yaml:"exitCode"`
	// Results are the results that the function reported, on success or failure.
	Results []fnresultv1.ResultItem `json:"results,omitempty" yaml:"results,omitempty"`
}

// Report is a RenderStatus with details that Porch's API has no field for.
type Report struct {
	RenderStatus `json:",inline" yaml:",inline"`
	// Functions are all functions that were due, in the order of the result list's items.
	Functions []Function `json:"functions,omitempty" yaml:"functions,omitempty"`
}

// NewReport returns the report of a render. functions are those that were due; err is the render's error or nil.
func NewReport(functions []Function, err error) Report {
	list := &ResultList{ResourceMeta: fnresultv1.NewResultList().ResourceMeta}
	for i := range functions {
		list.Items = append(list.Items, functions[i].item())
	}
	report := Report{RenderStatus: RenderStatus{Result: list}, Functions: functions}
	report.Fail(err)
	return report
}

// item returns the function's item of a result list: its entry, with warnings about selectors that matched nothing appended to
// the results. The render status in a Kptfile uses Entry instead, because it must be as kpt writes it.
func (f *Function) item() Result {
	entry := f.Entry()
	for _, text := range f.Unmatched {
		entry.Results = append(slices.Clip(entry.Results), fnresultv1.ResultItem{Message: text, Severity: framework.Warning})
	}
	return entry
}

// Fail records the error that ended the render. It does nothing if err is nil or an error is already recorded.
func (r *Report) Fail(err error) {
	if err == nil || r.Error != "" {
		return
	}
	r.Error = err.Error()
	if r.Result != nil {
		r.Result.ExitCode = 1
	}
}

// NewUnreached returns the report of a render that failed before any function was due.
func NewUnreached(err error) Report {
	return Report{RenderStatus: RenderStatus{Error: err.Error()}}
}

// Warnings returns the version warnings of all functions, without duplicates.
func (r *Report) Warnings() []string {
	var warnings []string
	for i := range r.Functions {
		if w := r.Functions[i].Warning; w != "" && !slices.Contains(warnings, w) {
			warnings = append(warnings, w)
		}
	}
	return warnings
}

// Unmatched returns the warnings about selectors that matched nothing, each with its function, without duplicates.
func (r *Report) Unmatched() []string {
	var warnings []string
	for i := range r.Functions {
		f := &r.Functions[i]
		where := ""
		if f.Package != "." {
			where = fmt.Sprintf(" of package %q", f.Package)
		}
		for _, text := range f.Unmatched {
			if w := fmt.Sprintf("function %q%s: %s", f.Title(), where, text); !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	return warnings
}
