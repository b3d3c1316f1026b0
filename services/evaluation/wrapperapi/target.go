// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package wrapperapi

import (
	"strings"

	"google.golang.org/grpc/metadata"
)

// The environment variables by which a wrapper server knows whose it is. Without them it takes every request.
const (
	PodUIDVariable   = "KRMFN_POD_UID"
	FunctionVariable = "KRMFN_FUNCTION"
)

// The gRPC metadata of requests that name their target, and the trailer, with the value "1", of those that reached another.
const (
	podUID      = "krmfn-pod-uid"
	function    = "krmfn-function"
	misdirected = "krmfn-misdirected"
)

// Target is the function pod that a request is meant for. Addresses of pods are used again: without a target, a request
// for a pod that has gone would be answered by whichever pod has its address now.
type Target struct {
	// PodUID is the UID of the pod. Function is what FunctionName returns. "" names none, which matches all.
	PodUID, Function string
}

// FunctionName returns the name of a function in a Target: its reference, with the digest that the reference stood for.
func FunctionName(reference, digest string) string {
	if digest == "" || strings.HasSuffix(reference, "@"+digest) {
		return reference
	}
	return reference + "@" + digest
}

// Metadata returns the metadata of requests to the target, as keys and values in turn.
func (t Target) Metadata() []string { return []string{podUID, t.PodUID, function, t.Function} }

// TargetOf returns the target that a request's metadata names.
func TargetOf(md metadata.MD) Target {
	return Target{PodUID: first(md, podUID), Function: first(md, function)}
}

// Matches tells whether a request that is meant for another target has reached it in t all the same.
func (t Target) Matches(other Target) bool {
	return matches(t.PodUID, other.PodUID) && matches(t.Function, other.Function)
}

func matches(a, b string) bool { return a == "" || b == "" || a == b }

// Misdirection returns the trailer of a request that is refused because it is meant for another target. It is a refusal, too.
func Misdirection() metadata.MD { return metadata.Pairs(notRun, "1", misdirected, "1") }

// Misdirected tells by the trailer of a failed request whether it reached another pod, or another function, than it was meant for.
func Misdirected(trailer metadata.MD) bool { return first(trailer, misdirected) == "1" }

func first(md metadata.MD, key string) string {
	if values := md.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}
