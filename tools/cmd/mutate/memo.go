// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

var memoMutations = table{"function-runner/internal/memo", []string{"."}, []mutation{
	{
		"memo.go", "\thead = append(head, name...)\n", "",
		"a function gets the results of another one",
	},
	{
		"memo.go", "\thead = binary.LittleEndian.AppendUint64(head, uint64(len(name)))\n", "",
		"functions whose names and requests only join to the same bytes share results",
	},
	{
		"memo.go", "uint64(req.MaxOutput)", "0",
		"a call gets a result that is larger than its limit",
	},
	{
		"memo.go", "if c == nil || resp.Report.GetFailure() != nil {", "if c == nil {",
		"a failure is added to the cache",
	},
	{
		"memo.go", "err != nil || resp.Report.GetFailure() != nil", "err != nil",
		"a failure is cached",
	},
	{
		"memo.go", "f.abandoned = ctx.Err() != nil", "f.abandoned = false",
		"all calls that wait run at once when the caller of the first one goes",
	},
	{
		"memo.go", "case !f.abandoned:", "case false:",
		"calls that wait for one that fails run one after the other",
	},
	{
		"memo.go", ".AsDuration() + waited)", ".AsDuration())",
		"the report does not say how long a call has waited for another",
	},
	{
		"cache.go", "a.size() > c.limit/sizeDivisor", "a.size() > c.limit",
		"one large result evicts all others",
	},
	{
		"cache.go", "\tc.results.Remove(k)\n", "",
		"a result that is replaced counts twice",
	},
	{
		"cache.go", "for c.bytes > c.limit {", "if c.bytes > c.limit {",
		"the cache grows beyond its limit",
	},
	{
		"cache.go", "report.Timings, report.Cached = nil, true", "report.Timings = nil",
		"the report does not say that the result is cached",
	},
	{
		"cache.go", "report, _ := proto.Clone(resp.Report).(*evaluationv1.Evaluation)", "report := resp.Report",
		"the report of the first call says that its result is cached",
	},
}}
