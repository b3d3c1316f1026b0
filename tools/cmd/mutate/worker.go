// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

var workerMutations = table{"internal/process/worker", []string{"."}, []mutation{
	{
		"worker.go", "\t_, _ = w.stderr.take() // output between two calls belongs to neither\n", "",
		"standard error between two calls goes to the next one",
	},
	{
		"worker.go", "w.stdout.Buffered() > 0 || ", "",
		"an answer that comes with another is given to the next call",
	},
	{
		"worker.go", " || child.Unread(w.child.Stdout) > 0 {", " {",
		"an answer that comes between two calls is given to the next one",
	},
	{
		"worker.go", "if !stop() && d == reusable {", "if stop(); false {",
		"a worker that was killed as it answered takes the next call",
	},
	{
		"worker.go", "return mustEnd, nil", "return notRun, nil",
		"a call whose worker ended runs twice",
	},
	{
		"worker.go", "w.memory() > maxIdleMemory || ", "",
		"a worker keeps the memory that a call leaves behind",
	},
	{
		"worker.go", " || !w.child.Pristine()", "",
		"a call finds the files of the one before it",
	},
	{
		"stderr.go", "s.tail = child.Tail{Limit: s.limit}", "",
		"each call gets the standard error of those before it, too",
	},
	{
		"pool.go", "d != reusable || m.worn()", "d != reusable",
		"a worker that a call has worn out is kept",
	},
	{
		"pool.go", "if d == notRun {", "if d == protocolViolation {",
		"a call whose worker ended before it read the request gets no answer",
	},
	{
		"pool.go", " || m.calls >= maxCalls", "",
		"a worker is never replaced",
	},
	{
		"pool.go", "\t\t\tp.stopAll(group.idle)\n", "",
		"idle workers keep memory that a call needs",
	},
	{
		"pool.go", `p.markUnsupported(m.group, "it wrote an answer that violates the worker protocol")`, "",
		"a command that violates the protocol gets workers again",
	},
	{
		"lifetime.go", "time.Since(m.since) >= minIdleTime && ", "",
		"commands that are used in turn end each other's workers",
	},
	{
		"lifetime.go", "rest > 0", "false",
		"workers end while they are in use",
	},
	{
		"lifetime.go", "h.expendable(func() { p.endWhenIdle(m) })", "",
		"orphans of a call live as long as workers wait for calls",
	},
	{
		"group.go", "replaced := !program.Is(c.program)", "replaced := false",
		"an executable that was replaced still answers",
	},
	{
		"group.go", "c.support, c.failures = supportUnknown, 0", "",
		"an executable that replaces one that was no worker gets no workers",
	},
}}
