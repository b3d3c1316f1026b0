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

// Refused tells by the trailer of a failed call whether it was refused, so that it may be sent to another pod. Unavailable
// without this trailer does not tell whether the function has run: the connection may have broken while it did.
func Refused(trailer metadata.MD) bool {
	values := trailer.Get(notRun)
	return len(values) == 1 && values[0] == "1"
}
