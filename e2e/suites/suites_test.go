// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package suites_test runs the end-to-end suites. Ginkgo runs them in parallel processes, each with its own installation.
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

// maxFlaky is the maximum number of specs that fail at first and pass when CI retries them.
const maxFlaky = 1

var _ = ReportAfterSuite("summary", func(report Report) {
	summary.Write(os.Stdout, report)
	Expect(len(summary.Flaky(report))).To(BeNumerically("<=", maxFlaky), "number of specs that passed only after a retry")
})
