// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

var processMutations = table{"internal/process", []string{"."}, []mutation{
	{
		"standby.go", "sp.process.Expendable(func() { s.endIfIdle(sp, StandbyEvicted) })", "",
		"orphans of a call live as long as processes wait for calls",
	},
	{
		"standby.go", "s.IdleTime/evictableDivisor", "0",
		"commands that are used in turn end each other's standby processes",
	},
	{
		"standby.go", "sp.process.Outdated(c.Child())", "false",
		"a program that was replaced still answers",
	},
	{
		"standby.go", `why != ""`, `why == "-"`,
		"a process that did not wait for its input answers a call",
	},
	{
		"standby.go", ", maxData: c.MaxData}", "}",
		"a call gets a process with the memory limit of another",
	},
	{
		"standby.go", "count >= s.Processes", "count > s.Processes",
		"more processes wait for a command than may",
	},
	{
		"standby.go", " || s.isUnsupported(k, c) {", " {",
		"a program that does not wait for its input gets standby processes again",
	},
	{
		"standby.go", "s.endIfIdle(sp, StandbyIdle)", "",
		"standby processes never expire",
	},
	{
		"runner.go", "input.Refused && out.ExitCode != 0", "input.Refused",
		"a call whose process closed its input, and ran, runs twice",
	},
	{
		"runner.go", "silent && untouched", "silent && (untouched || standby)",
		"a call whose process read its input and ended at once runs twice",
	},
	{
		"runner.go", "ctx.Err() != nil && out.Signal == syscall.SIGKILL", "out.Signal == syscall.SIGCHLD",
		"a call that was killed at its deadline does not say so",
	},
	{
		"runner.go", "if c.MaxStdout > 0 {", "if c.MaxStdout > limits.Stdout {",
		"a call may write more than its own limit",
	},
	{
		"command.go", "b.WriteByte(0)", "",
		"commands whose arguments are divided differently share standby processes",
	},
	{
		"pace.go", "hurry && p.running < processors", "hurry",
		"processes start ahead while no processor is idle",
	},
	{
		"memory.go", "defer reservation.Release()", "",
		"calls do not give back their memory",
	},
	{
		"memory.go", "max(m.share, need)", "m.share",
		"a call with a large list does not get more memory",
	},
	{
		"environment.go", `key == "TMPDIR" || !keep(key)`, "!keep(key)",
		"functions get the TMPDIR of the server",
	},
}}
