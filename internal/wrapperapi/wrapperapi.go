// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package wrapperapi defines the gRPC metadata, environment variables and flags that the function runner and the wrapper server share, in
// addition to the messages of krmfn.wrapper.v1.
package wrapperapi

import "google.golang.org/grpc/metadata"

// notRun is the key of the gRPC trailer of a rejected call. The value is "1".
const notRun = "krmfn-not-run"

// Refusal returns the trailer of a call that the wrapper server rejects before it starts the function, because it is draining or has no
// capacity. The status code is Unavailable.
func Refusal() metadata.MD { return metadata.Pairs(notRun, "1") }

// Refused reports whether a failed call was rejected, so that it can be sent to another pod.
func Refused(trailer metadata.MD) bool {
	values := trailer.Get(notRun)
	return len(values) == 1 && values[0] == "1"
}

// begun is the key of the gRPC header of a call whose function has been started, or is about to be. The value is "1".
const begun = "krmfn-begun"

// Begun returns the header that the wrapper server sends when it has admitted a call and starts the function. A call whose connection
// breaks before that has not run.
func Begun() metadata.MD { return metadata.Pairs(begun, "1") }

// HasBegun reports whether the function of a call with a broken connection may have run.
func HasBegun(header metadata.MD) bool { return len(header.Get(begun)) > 0 }
