// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package wrapperapi

import (
	"strings"

	"google.golang.org/grpc/metadata"
)

// Environment variables with the pod and the function of a wrapper server. Without them, it accepts requests for any target.
const (
	PodUIDVariable   = "KRMFN_POD_UID"
	FunctionVariable = "KRMFN_FUNCTION"
)

// Keys of the gRPC metadata of requests that name their target, and of the trailer, with the value "1", of requests that reached
// another target.
const (
	podUID      = "krmfn-pod-uid"
	function    = "krmfn-function"
	misdirected = "krmfn-misdirected"
)

// Target is the function pod that a request is for. Pods' IP addresses are reused: without a target, a request for a deleted pod could
// be answered by the pod that has its address.
type Target struct {
	// PodUID is the UID of the pod. Function is a result of FunctionName. Empty fields match everything.
	PodUID, Function string
}

// FunctionName returns the name of a function in a Target: its reference with its digest.
func FunctionName(reference, digest string) string {
	if digest == "" || strings.HasSuffix(reference, "@"+digest) {
		return reference
	}
	return reference + "@" + digest
}

// Metadata returns the metadata of requests to the target, as alternating keys and values.
func (t Target) Metadata() []string { return []string{podUID, t.PodUID, function, t.Function} }

// TargetOf returns the target in a request's metadata.
func TargetOf(md metadata.MD) Target {
	return Target{PodUID: first(md, podUID), Function: first(md, function)}
}

// Matches reports whether t may accept a request for other.
func (t Target) Matches(other Target) bool {
	return matches(t.PodUID, other.PodUID) && matches(t.Function, other.Function)
}

func matches(a, b string) bool { return a == "" || b == "" || a == b }

// Misdirection returns the trailer of a request that is rejected because it is for another target. Refused is true for it, too.
func Misdirection() metadata.MD { return metadata.Pairs(notRun, "1", misdirected, "1") }

// Misdirected reports whether the trailer is of a request that reached another pod or function than its target.
func Misdirected(trailer metadata.MD) bool { return first(trailer, misdirected) == "1" }

func first(md metadata.MD, key string) string {
	if values := md.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}
