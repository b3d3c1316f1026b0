// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

var endpointMutations = table{"function-runner/internal/endpoint", []string{"."}, []mutation{
	{
		"watchdog.go", "if !f.begun.Load() || w.silence() > goneAfter {", "{",
		"calls that run end as soon as a pod does not answer",
	},
	{
		"watchdog.go", " || w.silence() > goneAfter {", " {",
		"calls that run on a pod that does not answer never end",
	},
	{
		"watchdog.go", "\tw.loss = nil\n", "",
		"a loss is never forgotten",
	},
	{
		"watchdog.go", "if errors.Is(err, errNotServing) {", "if false {",
		"a pod that drains loses the calls that wait in it",
	},
	{
		"watchdog.go", "!ok || !wrapperapi.HasBegun(header.Header)", "!ok",
		"calls that a pod has not begun with fail instead of running on another pod",
	},
	{
		"link.go", " || w.asks > 0 {", " {",
		"a connection is closed while a health check is under way",
	},
	{
		"link.go", "len(w.flights) > 0 || ", "",
		"a connection is closed while a call is under way",
	},
	{
		"link.go", "case connectivity.TransientFailure, connectivity.Shutdown:", "case connectivity.Shutdown:",
		"a pod that cannot be reached is not lost",
	},
	{
		"link.go", "case w.closed:", "case false:",
		"calls are sent to a pod that the function runner has left",
	},
	{
		"evaluate.go", "st.Code() == codes.Unavailable && !f.begun.Load()", "st.Code() == codes.Unavailable",
		"a call that ran runs twice",
	},
	{
		"evaluate.go", "case gone && !f.begun.Load():", "case false:",
		"a call that a silent pod has not begun with is not sent to another one",
	},
	{
		"evaluate.go", "load.Running++", "",
		"a pod seems to have one more place than it has",
	},
	{
		"endpoint.go", "metadata.AppendToOutgoingContext(ctx, e.target.Metadata()...)", "ctx",
		"a pod with the address of another one runs its calls",
	},
	{
		"endpoint.go", "case wrapperapi.Misdirected(trailer):", "case false:",
		"a pod whose address another one has is asked without end whether it serves",
	},
}}
