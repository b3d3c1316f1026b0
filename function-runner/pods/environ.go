// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// wrapperImageVariable names the image of the wrapper server, which function pods are made with.
const wrapperImageVariable = "WRAPPER_SERVER_IMAGE"

// traceVariables say where traces go, and how many. What may hold credentials is not among them: everybody who may look at
// pods could read it.
var traceVariables = []string{
	"OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
	"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
}

// traced returns the variables by which wrapper servers send their part of a trace to where this process sends its own.
func traced(environ []string) []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && slices.Contains(traceVariables, name) {
			env = append(env, corev1.EnvVar{Name: name, Value: value})
		}
	}
	slices.SortFunc(env, func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return env
}
