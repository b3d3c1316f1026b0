// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package renderstatus is what a render has to say about its functions: the RenderStatus of Porch's API
// (porch.kpt.dev/v1alpha1, in JSON) and kpt's FunctionResultList within it, and beside them how each function was run.
package renderstatus

import (
	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// RenderStatus is the status of PackageRevisionResources in Porch's API.
type RenderStatus struct {
	// Result lists the functions that ran; nil when the render ended before any function was reached.
	Result *ResultList `json:"result,omitempty" yaml:"result,omitempty"`
	// Error is the text of the error that ended the render; "" when it succeeded.
	Error string `json:"error" yaml:"error"`
}

// ResultList is a kpt.dev/v1 FunctionResultList.
type ResultList struct {
	yaml.ResourceMeta `json:",inline" yaml:",inline"`
	// ExitCode is 1 once any function has failed, otherwise 0.
	ExitCode int `json:"exitCode" yaml:"exitCode"`
	// Items has a result for each function that ran, in the order in which they ran, but for one whose output was rejected.
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
	// than its end was the failure.
	ExitCode int `json:"exitCode" yaml:"exitCode"`
	// Results are what the function had to say, on success and on failure.
	Results []fnresultv1.ResultItem `json:"results,omitempty" yaml:"results,omitempty"`
}

// Report is a RenderStatus and, beside it, what its API has no place for.
type Report struct {
	RenderStatus `json:",inline" yaml:",inline"`
	// Functions are all functions that the render came to, in order. They may be more than those that ran.
	Functions []Function `json:"functions,omitempty" yaml:"functions,omitempty"`
}

// NewReport returns the report of a render that came to the functions given and ended with err, or nil.
func NewReport(functions []Function, err error) Report {
	list := &ResultList{ResourceMeta: fnresultv1.NewResultList().ResourceMeta}
	for i := range functions {
		f := &functions[i]
		if !f.Listed() {
			continue
		}
		if f.ExitCode != 0 {
			list.ExitCode = 1
		}
		list.Items = append(list.Items, f.Result)
	}
	report := Report{RenderStatus: RenderStatus{Result: list}, Functions: functions}
	if err != nil {
		report.Error = err.Error()
	}
	return report
}

// NewUnreached returns the report of a render that ended with err before it came to its functions.
func NewUnreached(err error) Report {
	return Report{RenderStatus: RenderStatus{Error: err.Error()}}
}
