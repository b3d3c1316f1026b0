// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package renderstatus_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

func TestEvaluatorName(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for number, name := range evaluationv1.Evaluator_name {
		word := renderstatus.EvaluatorName(evaluationv1.Evaluator(number))
		if want := strings.ToLower(strings.TrimPrefix(name, "EVALUATOR_")); number != 0 && word != want {
			t.Errorf("EvaluatorName(%s) = %q, want %q", name, word, want)
		}
		seen[word] = true
	}
	if len(seen) != len(evaluationv1.Evaluator_name) {
		t.Errorf("names are not unique: %v", seen)
	}
}

func TestRenderStatusJSON(t *testing.T) {
	t.Parallel()
	passed := renderstatus.Function{Package: ".", Result: renderstatus.Result{Image: "r.io/set:v1"}, Duration: renderstatus.Duration(1500 * time.Millisecond)}
	passed.SetReport(&evaluationv1.Evaluation{
		Digest: "sha256:ab", Evaluator: evaluationv1.Evaluator_EVALUATOR_POD, Implementation: "set-pod-1", Stderr: []byte("log \xff\n"),
		Results: []*evaluationv1.Result{{
			Message: "port", Severity: "warning",
			ResourceRef: &evaluationv1.ResourceRef{ApiVersion: "v1", Kind: "Service", Name: "web", Namespace: "shop"},
			Field:       &evaluationv1.Field{Path: "spec.port", CurrentValue: "1.50", ProposedValue: "{a: 1}"},
			File:        &evaluationv1.File{Path: "a.yaml", Index: 2},
			Tags:        map[string]string{"k": "v"},
		}},
	})
	failed := renderstatus.Function{Package: ".", Validator: true, Index: 1, Name: "check", Result: renderstatus.Result{Exec: "./check --all"}}
	failed.SetReport(&evaluationv1.Evaluation{
		Stderr: []byte("end"), StderrDroppedBytes: 7,
		Failure: &evaluationv1.Failure{Message: "the output is empty, want a ResourceList"},
	})
	unreached := renderstatus.Function{Package: ".", Validator: true, Index: 2, Result: renderstatus.Result{Image: "r.io/x:v1"}}
	unreached.SetFailure("function not found")

	report := renderstatus.NewReport([]renderstatus.Function{passed, failed, unreached}, errors.New("fn.render: failed"))
	got, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "result": {
    "apiVersion": "kpt.dev/v1",
    "kind": "FunctionResultList",
    "metadata": {
      "name": "fnresults"
    },
    "exitCode": 1,
    "items": [
      {
        "image": "r.io/set:v1",
        "stderr": "log �",
        "exitCode": 0,
        "results": [
          {
            "message": "port",
            "severity": "warning",
            "resourceRef": {
              "apiVersion": "v1",
              "kind": "Service",
              "name": "web",
              "namespace": "shop"
            },
            "field": {
              "path": "spec.port",
              "currentValue": "1.50",
              "proposedValue": "{a: 1}"
            },
            "file": {
              "path": "a.yaml",
              "index": 2
            },
            "tags": {
              "k": "v"
            }
          }
        ]
      },
      {
        "exec": "./check --all",
        "stderr": "[7 bytes before this are left out] end",
        "exitCode": 1
      },
      {
        "image": "r.io/x:v1",
        "exitCode": 1
      }
    ]
  },
  "error": "fn.render: failed",
  "functions": [
    {
      "package": ".",
      "index": 0,
      "ran": true,
      "image": "r.io/set:v1",
      "stderr": "log �",
      "exitCode": 0,
      "results": [
        {
          "message": "port",
          "severity": "warning",
          "resourceRef": {
            "apiVersion": "v1",
            "kind": "Service",
            "name": "web",
            "namespace": "shop"
          },
          "field": {
            "path": "spec.port",
            "currentValue": "1.50",
            "proposedValue": "{a: 1}"
          },
          "file": {
            "path": "a.yaml",
            "index": 2
          },
          "tags": {
            "k": "v"
          }
        }
      ],
      "evaluator": "pod",
      "implementation": "set-pod-1",
      "digest": "sha256:ab",
      "duration": "1.5s"
    },
    {
      "package": ".",
      "validator": true,
      "index": 1,
      "name": "check",
      "ran": true,
      "exec": "./check --all",
      "stderr": "[7 bytes before this are left out] end",
      "exitCode": 1,
      "error": "the output is empty, want a ResourceList"
    },
    {
      "package": ".",
      "validator": true,
      "index": 2,
      "ran": false,
      "image": "r.io/x:v1",
      "exitCode": 1,
      "error": "function not found"
    }
  ]
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	var back renderstatus.Report
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report, back); diff != "" {
		t.Errorf("decoded report (-want +got):\n%s", diff)
	}
}

// If another version ran than a tag names, every result list has a warning. For a tag that names no version, none has.
func TestWarningOfVersion(t *testing.T) {
	t.Parallel()
	const warning = "set:v9.9.9 is evaluated by v0.2.0"
	own := &evaluationv1.Result{Message: "own"}
	for image, want := range map[string][]fnresultv1.ResultItem{
		"r.io/set:v9.9.9": {{Message: "own"}, {Message: warning, Severity: "warning"}},
		"r.io/set:latest": {{Message: "own"}},
	} {
		f := renderstatus.Function{Result: renderstatus.Result{Image: image}}
		f.SetReport(&evaluationv1.Evaluation{Warning: warning, Results: []*evaluationv1.Result{own}})
		report := renderstatus.NewReport([]renderstatus.Function{f}, nil)
		if diff := cmp.Diff(want, report.Result.Items[0].Results); diff != "" {
			t.Errorf("%s (-want +got):\n%s", image, diff)
		}
		again := renderstatus.NewReport([]renderstatus.Function{f, {}, f}, nil)
		if diff := cmp.Diff([]string{warning}, again.Warnings()); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", image, diff)
		}
		if f := report.Functions[0]; f.Warning != warning || len(f.Results) != 1 {
			t.Errorf("%s: Function = %+v, want the warning only in Warning", image, f)
		}
	}
}

func TestUnreached(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(renderstatus.NewUnreached(errors.New("no Kptfile")))
	if err != nil || string(got) != `{"error":"no Kptfile"}` {
		t.Errorf("JSON = %s, %v", got, err)
	}
	got, err = json.Marshal(renderstatus.NewReport(nil, nil))
	want := `{"result":{"apiVersion":"kpt.dev/v1","kind":"FunctionResultList","metadata":{"name":"fnresults"},"exitCode":0},"error":""}`
	if err != nil || string(got) != want {
		t.Errorf("JSON = %s, %v", got, err)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		report *evaluationv1.Evaluation
		want   int
	}{
		"own code":          {&evaluationv1.Evaluation{ExitCode: 3, Failure: &evaluationv1.Failure{Message: "m"}}, 3},
		"killed":            {&evaluationv1.Evaluation{ExitCode: -1, Failure: &evaluationv1.Failure{Message: "m"}}, -1},
		"failed after exit": {&evaluationv1.Evaluation{Failure: &evaluationv1.Failure{Message: "m"}}, 1},
		"deadline exceeded": {&evaluationv1.Evaluation{ExitCode: -1, Failure: &evaluationv1.Failure{
			Reason: evaluationv1.FailureReason_FAILURE_REASON_DEADLINE, Message: "m",
		}}, 1},
		"killed by a signal": {&evaluationv1.Evaluation{ExitCode: -1, Failure: &evaluationv1.Failure{
			Reason: evaluationv1.FailureReason_FAILURE_REASON_SIGNAL, Message: "m",
		}}, -1},
		"success":   {&evaluationv1.Evaluation{Results: []*evaluationv1.Result{{Severity: "error"}}}, 0},
		"no report": {nil, 0},
	} {
		var f renderstatus.Function
		if f.SetReport(tc.report); f.ExitCode != tc.want || !f.Ran {
			t.Errorf("%s: exit code %d, want %d", name, f.ExitCode, tc.want)
		}
	}
}
