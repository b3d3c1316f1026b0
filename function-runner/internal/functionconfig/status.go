// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// Finalizer is what Porch's function runner adds to the objects. Nothing has to be done here before one goes, so that it is
	// only ever removed.
	Finalizer = "config.porch.kpt.dev/functionconfig-function-runner"
	// reporter begins each status.error of a function runner: it is the only one of the components that may take it away.
	reporter = "function-runner: "
	// maxError is the most bytes of a status.error.
	maxError = 1024

	observedField, errorField = "functionRunnerObservedGeneration", "error"
)

// change is a merge patch that an object wants. The patch names the version that it is for, so that of two replicas one makes
// it, and a later version is not given what was said of an earlier one.
type change struct {
	patch       []byte
	subresource []string
	// content is what the patch says, whatever the version.
	content string
}

// text returns what status.error is to say; "" for nothing.
func (v *verdict) text() string {
	if len(v.problems) == 0 {
		return ""
	}
	text := strings.ReplaceAll(reporter+strings.Join(v.problems, "; "), "\n", " ")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError-len("…")], "") + "…"
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "?")
	}
	return text
}

// change returns what is to be changed in the object; nil for nothing.
func (v *verdict) change() *change {
	if v.object.GetDeletionTimestamp() != nil {
		return v.release()
	}
	observed, _, _ := unstructured.NestedInt64(v.object.Object, "status", observedField)
	current, _, _ := unstructured.NestedString(v.object.Object, "status", errorField)
	status := map[string]any{}
	if generation := v.object.GetGeneration(); observed != generation {
		status[observedField] = generation
	}
	wanted := v.text()
	switch {
	case wanted != "" && wanted != current:
		status[errorField] = wanted
	case wanted == "" && strings.HasPrefix(current, reporter):
		status[errorField] = nil
	}
	if len(status) == 0 {
		return nil
	}
	content := fmt.Sprint(v.object.GetGeneration(), " ", wanted)
	return &change{patch: v.patch(map[string]any{"status": status}), subresource: []string{"status"}, content: content}
}

// release takes the finalizer off an object that is being deleted.
func (v *verdict) release() *change {
	finalizers := v.object.GetFinalizers()
	left := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == Finalizer })
	if len(left) == len(finalizers) {
		return nil
	}
	metadata := map[string]any{"finalizers": left}
	return &change{patch: v.patch(map[string]any{"metadata": metadata}), content: Finalizer}
}

func (v *verdict) patch(fields map[string]any) []byte {
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		fields["metadata"] = metadata
	}
	metadata["resourceVersion"] = v.object.GetResourceVersion()
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // of values that can always be marshalled
	}
	return text
}
