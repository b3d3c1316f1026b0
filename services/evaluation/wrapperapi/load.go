// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package wrapperapi

import (
	"strconv"
	"strings"

	"google.golang.org/grpc/metadata"
)

// load is the gRPC header of calls that begin, and the trailer of those that end or are refused: how many calls run and how many
// wait, as "RUNNING/WAITING". The call itself counts in its header and no more in its trailer.
const load = "krmfn-load"

// Load is what a wrapper server has to do, for all its callers together.
type Load struct {
	// Running and Waiting are numbers of calls.
	Running, Waiting int
}

// Metadata returns the header or trailer that reports the load.
func (l Load) Metadata() metadata.MD {
	return metadata.Pairs(load, strconv.Itoa(l.Running)+"/"+strconv.Itoa(l.Waiting))
}

// LoadOf returns the load that a header or a trailer reports, and whether it reports any. What is not a load is ignored.
func LoadOf(md metadata.MD) (Load, bool) {
	running, waiting, ok := strings.Cut(first(md, load), "/")
	r, err1 := strconv.ParseUint(running, 10, 31)
	w, err2 := strconv.ParseUint(waiting, 10, 31)
	return Load{Running: int(r), Waiting: int(w)}, ok && err1 == nil && err2 == nil
}

// busy is the gRPC trailer of a refusal by a wrapper server that is well and has no room. It has the value "1".
const busy = "krmfn-busy"

// NoRoom returns the trailer of a call that is refused for lack of room. It is a refusal, too.
func NoRoom() metadata.MD { return metadata.Pairs(notRun, "1", busy, "1") }

// Busy tells by the trailer of a refusal whether it is for lack of room.
func Busy(trailer metadata.MD) bool { return first(trailer, busy) == "1" }
