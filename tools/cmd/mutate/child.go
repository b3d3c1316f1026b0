// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

var childMutations = table{"internal/process/internal/child", []string{".", "../.."}, []mutation{
	{
		"feed.go", "in.restWritten == 0 && Unread(in.watchEnd) == in.written", "in.restWritten == 0",
		"a process that read a small input counts as one that read nothing",
	},
	{
		"sink.go", "if h.Full() {\n\t\treturn nil\n\t}\n", "",
		"output over the limit is taken for all of it",
	},
	{
		"sink.go", "h.size > floodFactor*h.Limit", "h.size > h.Limit",
		"a process is killed before it is known how large its output is",
	},
	{
		"sink.go", "t.dropped += int64(over)", "",
		"nobody is told that standard error was cut off",
	},
	{
		"scratch.go", "\tif dir.pristine() {\n\t\tselect {", "\t{\n\t\tselect {",
		"a directory with files of a call is kept for the next one",
	},
	{
		"scratch.go", " && now.Ctim == d.empty.Ctim", "",
		"a directory that was empty once counts as empty",
	},
	{
		"reap_linux.go", "if from < oldest {", "if from <= oldest {",
		"a sweep kills processes of a call that runs",
	},
	{
		"reap_linux.go", "if !inOtherSession(pid) {", "if false {",
		"a sweep collects and kills the children of others",
	},
	{
		"reap_linux.go", "s.ledger.endExpendable(from)", "",
		"a process that waits for work keeps orphans alive",
	},
	{
		"command.go", "s.Size, s.Mtim, s.Ctim", "s.Size, s.Mtim",
		"a program that was replaced by one with its size and time counts as unchanged",
	},
}}
