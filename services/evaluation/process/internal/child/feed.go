// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import "os"

// Input is what a process gets on its standard input.
type Input struct {
	// Rest, unless nil, writes what did not fit into the pipe, and returns when the process has read it or ended.
	Rest func()
	// Refused tells that nothing of the input has got into the pipe, because nobody can read it any more.
	Refused bool

	// held is how much was written at once, and more what Rest has written.
	held, more int
	// watch is a read end of the pipe, through which nothing is read; nil where there is none.
	watch *os.File
}

// firstWrite is how much is written before the pipe is watched: an empty pipe always takes it.
const firstWrite = 4 << 10

// Feed writes the input to the pipe and closes it. What fits into the pipe is written at once. A function that does not read all of
// its input is no error. watched says that Untouched will be called.
func Feed(w *os.File, input []byte, watched bool) *Input {
	in := &Input{}
	left := input
	var err error
	if watched {
		// As long as nobody else can read the pipe, a write fails that the process cannot read any more.
		first := min(len(input), firstWrite)
		if left, err = writeNow(w, input[:first]); err == nil {
			in.watch = readEnd(w)
		}
		left = input[first-len(left):]
	}
	if err == nil {
		left, err = writeNow(w, left)
	}
	in.held = len(input) - len(left)
	if err != nil || len(left) == 0 {
		_ = w.Close()
		in.Refused = err != nil && in.held == 0
		return in
	}
	in.Rest = func() {
		in.more, _ = w.Write(left)
		_ = w.Close()
	}
	return in
}

// Untouched tells of a process that has ended whether nobody has read any of its input, or the system cannot tell. It is called once,
// after Rest.
func (in *Input) Untouched() bool {
	if in.watch == nil {
		return true
	}
	defer in.watch.Close()
	return in.more == 0 && Unread(in.watch) == in.held
}
