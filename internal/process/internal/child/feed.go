// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import "os"

// Input is the input of a process. Feed has written the first part, and Rest writes the remaining part, if any.
type Input struct {
	// Rest writes the input that did not fit into the pipe. It returns when the process has read it, or has exited. It is nil if
	// everything has been written.
	Rest func()
	// Refused reports that no input was written because no process can read the pipe.
	Refused bool

	// written is the number of bytes that Feed wrote, and restWritten the number that Rest wrote.
	written, restWritten int
	// watchEnd is a read end of the pipe. It is used to query the fill level, never to read. It may be nil.
	watchEnd *os.File
}

// firstWrite is the number of bytes to write before opening the watch end. An empty pipe always has room for them.
const firstWrite = 4 << 10

// Feed writes as much input as fits into the pipe, and closes the pipe after the last byte. It is not an error if the process does not
// read all input. If watched is set, the caller must call Untouched.
func Feed(w *os.File, input []byte, watched bool) *Input {
	in := &Input{}
	left := input
	var err error
	if watched {
		// Write before opening another read end: as long as the process has the only read end, the write fails if it has closed its
		// standard input.
		first := min(len(input), firstWrite)
		if left, err = writeNow(w, input[:first]); err == nil {
			in.watchEnd = readEnd(w)
		}
		left = input[first-len(left):]
	}
	if err == nil {
		left, err = writeNow(w, left)
	}
	in.written = len(input) - len(left)
	if err != nil || len(left) == 0 {
		_ = w.Close()
		in.Refused = err != nil && in.written == 0
		return in
	}
	in.Rest = func() {
		in.restWritten, _ = w.Write(left)
		_ = w.Close()
	}
	return in
}

// Untouched reports whether the process, which must have exited, has read nothing. It is also true if the system cannot tell. Call it
// once, after Rest.
func (in *Input) Untouched() bool {
	if in.watchEnd == nil {
		return true
	}
	defer in.watchEnd.Close()
	return in.restWritten == 0 && Unread(in.watchEnd) == in.written
}
