// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package suites_test runs the end-to-end suites. Ginkgo runs it in several processes, each with an installation of its own.
package suites_test

import (
	"context"
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install/fixture"
	_ "github.com/krmfn/krmfn/e2e/suites/chaos"
	_ "github.com/krmfn/krmfn/e2e/suites/ha"
	_ "github.com/krmfn/krmfn/e2e/suites/pods"
	_ "github.com/krmfn/krmfn/e2e/suites/registry"
	_ "github.com/krmfn/krmfn/e2e/suites/release"
	_ "github.com/krmfn/krmfn/e2e/suites/smoke"
	"github.com/krmfn/krmfn/e2e/suites/summary"
	_ "github.com/krmfn/krmfn/e2e/suites/tenancy"
)

func TestSuites(t *testing.T) { //nolint:paralleltest // Ginkgo runs specs in processes
	RegisterFailHandler(Fail)
	RunSpecs(t, "krmfn")
}

var _ = SynchronizedBeforeSuite(func(ctx context.Context) []byte {
	return []byte(fixture.Build(ctx))
}, func(ctx context.Context, programs []byte) {
	fixture.Open(ctx, string(programs))
})

var _ = AfterEach(func(ctx context.Context) { fixture.Shared().Clean(ctx) })

// maxFlaky is the number of specs that may fail at their first attempt and pass at the second, which CI makes.
const maxFlaky = 1

var _ = ReportAfterSuite("summary", func(report Report) {
	summary.Write(os.Stdout, report)
	Expect(len(summary.Flaky(report))).To(BeNumerically("<=", maxFlaky), "number of specs that passed only when they were tried again")
})
