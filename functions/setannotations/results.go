// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setannotations

import (
	"encoding/json"
	"fmt"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// annotatedField is a field of the resources at one place in one file.
type annotatedField struct {
	file fn.File
	path string
}

// annotationResults tells in which fields annotations were set, once for all resources that are at the same place.
func annotationResults(fields []annotatedField, annotations map[string]string) fn.Results {
	if len(fields) == 0 {
		return fn.Results{{Message: "no annotations applied"}}
	}
	text, err := json.Marshal(annotations)
	if err != nil {
		text = fmt.Append(nil, annotations)
	}
	told := make(map[annotatedField]bool, len(fields))
	var results fn.Results
	for _, field := range fields {
		if told[field] {
			continue
		}
		told[field] = true
		results = append(results, &fn.Result{
			Message: "set annotations: " + string(text),
			Field:   &fn.Field{Path: field.path},
			File:    &field.file,
		})
	}
	results.Sort()
	return results
}
