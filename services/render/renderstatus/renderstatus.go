// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package renderstatus is what a render has to say about its functions: the RenderStatus of Porch's API
// (porch.kpt.dev/v1alpha1, in JSON) and kpt's FunctionResultList within it, and beside them how each function was run.
package renderstatus

import (
	"fmt"
	"slices"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// RenderStatus is the status of PackageRevisionResources in Porch's API.
type RenderStatus struct {
	// Result lists the functions; nil when the render ended before any function was reached.
	Result *ResultList `json:"result,omitempty" yaml:"result,omitempty"`
	// Error is the text of the error that ended the render; "" when it succeeded.
	Error string `json:"error" yaml:"error"`
}

// ResultList is a kpt.dev/v1 FunctionResultList.
type ResultList struct {
	yaml.ResourceMeta `json:",inline" yaml:",inline"`
	// ExitCode is 1 when the render failed, for whatever reason, otherwise 0.
	ExitCode int `json:"exitCode" yaml:"exitCode"`
	// Items has a result for each function that the render came to, in order: a function that could not run, and one whose
	// output was rejected, too.
	Items []Result `json:"items,omitempty" yaml:"items,omitempty"`
}

// Result is the result of one function. It has either Image or Exec.
type Result struct {
	// Image is the resolved image.
	Image string `json:"image,omitempty" yaml:"image,omitempty"`
	// Exec is the full command line.
	Exec string `json:"exec,omitempty" yaml:"exec,omitempty"`
	// Stderr is the function's standard error.
	Stderr string `json:"stderr,omitempty" yaml:"stderr,omitempty"`
	// ExitCode is the function's exit code: not 0 exactly when it failed, -1 when a signal ended it, and 1 when something else
	// than its end was the failure: it was not found, say, or its output was rejected.
	ExitCode int `json:"exitCode" yaml:"exitCode"`
	// Results are what the function had to say, on success and on failure.
	Results []fnresultv1.ResultItem `json:"results,omitempty" yaml:"results,omitempty"`
}

// Report is a RenderStatus and, beside it, what its API has no place for.
type Report struct {
	RenderStatus `json:",inline" yaml:",inline"`
	// Functions are all functions that the render came to, in order, as the items of the result list are.
	Functions []Function `json:"functions,omitempty" yaml:"functions,omitempty"`
}

// NewReport returns the report of a render that came to the functions given and ended with err, or nil.
func NewReport(functions []Function, err error) Report {
	list := &ResultList{ResourceMeta: fnresultv1.NewResultList().ResourceMeta}
	for i := range functions {
		list.Items = append(list.Items, functions[i].item())
	}
	report := Report{RenderStatus: RenderStatus{Result: list}, Functions: functions}
	report.Fail(err)
	return report
}

// item returns the function's item of a result list: its entry and, behind the results of that, the warnings of selectors that
// matched nothing. The status of a Kptfile does without these, as it is kept as kpt writes it.
func (f *Function) item() Result {
	entry := f.Entry()
	for _, text := range f.Unmatched {
		entry.Results = append(slices.Clip(entry.Results), fnresultv1.ResultItem{Message: text, Severity: framework.Warning})
	}
	return entry
}

// Fail notes an error that ends what is reported on; nil for none. The first one stays.
func (r *Report) Fail(err error) {
	if err == nil || r.Error != "" {
		return
	}
	r.Error = err.Error()
	if r.Result != nil {
		r.Result.ExitCode = 1
	}
}

// NewUnreached returns the report of a render that ended with err before it came to its functions.
func NewUnreached(err error) Report {
	return Report{RenderStatus: RenderStatus{Error: err.Error()}}
}

// Warnings returns what users must know of the functions that ran, each text once.
func (r *Report) Warnings() []string {
	var warnings []string
	for i := range r.Functions {
		if w := r.Functions[i].Warning; w != "" && !slices.Contains(warnings, w) {
			warnings = append(warnings, w)
		}
	}
	return warnings
}

// Unmatched returns what users should know of selectors that matched no resource, with their functions, each text once.
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
