// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package wrapperapi

import (
	"strconv"
	"strings"

	"google.golang.org/grpc/metadata"
)

// load is the key of the gRPC header when a call begins, and of the trailer when a call ends or is rejected. The value is the number of
// running and of waiting calls as "RUNNING/WAITING". The header includes the call, and the trailer does not.
const load = "krmfn-load"

// Load is the load of a wrapper server from all its callers.
type Load struct {
	// Running and Waiting are numbers of calls.
	Running, Waiting int
}

// Metadata returns the load as a header or trailer.
func (l Load) Metadata() metadata.MD {
	return metadata.Pairs(load, strconv.Itoa(l.Running)+"/"+strconv.Itoa(l.Waiting))
}

// LoadOf returns the load in a header or trailer, and whether it contains a valid one.
func LoadOf(md metadata.MD) (Load, bool) {
	running, waiting, ok := strings.Cut(first(md, load), "/")
	r, err1 := strconv.ParseUint(running, 10, 31)
	w, err2 := strconv.ParseUint(waiting, 10, 31)
	return Load{Running: int(r), Waiting: int(w)}, ok && err1 == nil && err2 == nil
}

// busy is the key of the gRPC trailer of a call that a healthy wrapper server rejected because it had no capacity. The value is "1".
const busy = "krmfn-busy"

// NoRoom returns the trailer of a call that is rejected for lack of capacity. Refused is true for it, too.
func NoRoom() metadata.MD { return metadata.Pairs(notRun, "1", busy, "1") }

// Busy reports whether the trailer is of a call that was rejected for lack of capacity.
func Busy(trailer metadata.MD) bool { return first(trailer, busy) == "1" }
