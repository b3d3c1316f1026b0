// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package wrapperapi has what the function runner and the wrapper server agree on beyond the messages of
// krmfn.wrapper.v1.
package wrapperapi

import "google.golang.org/grpc/metadata"

// notRun is the gRPC trailer of a refusal. It has the value "1".
const notRun = "krmfn-not-run"

// Refusal returns the trailer of a call that the wrapper server refuses before anything of the function has run: because
// it drains, or because no place is left. The status code of a refusal is Unavailable.
func Refusal() metadata.MD { return metadata.Pairs(notRun, "1") }

// Refused tells by the trailer of a failed call whether it was refused, so that it may be sent to another pod.
func Refused(trailer metadata.MD) bool {
	values := trailer.Get(notRun)
	return len(values) == 1 && values[0] == "1"
}

// begun is the gRPC header of a call whose function has been started, or is about to be. It has the value "1".
const begun = "krmfn-begun"

// Begun returns the header that the wrapper server sends at once when a call has its place and the function is started. Calls
// that break before that have not run, though the pod had them.
func Begun() metadata.MD { return metadata.Pairs(begun, "1") }

// HasBegun tells by the header of a call that broke whether its function may have run.
func HasBegun(header metadata.MD) bool { return len(header.Get(begun)) > 0 }
