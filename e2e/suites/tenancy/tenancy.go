// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package tenancy tests that two installations in one cluster, configured according to docs/multi-tenancy.md, are isolated from each other
// even if one of them is hostile.
package tenancy

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

const (
	// shared is the path of images that both teams may run. leapDays is a schedule that fires only on leap days.
	shared, leapDays = "shared", "0 0 29 2 *"
	// callers is the number of connections of a load, each with one call at a time. work is the duration of a call.
	callers, work = 3, 20 * time.Millisecond
)

var (
	// a is the installation of team-a, and b is the hostile installation of team-b.
	a, b *fixture.Fixture
	// pushed is the number of pushed functions.
	pushed int
)

// The specs run in one process, because the documentation fixes the namespaces of the installations. They take longest, so they start
// first.
var _ = Describe("Multi-tenancy", Label("tenancy"), SpecPriority(1), Ordered, ContinueOnFailure, func() {
	BeforeAll(func() {
		a, b = fixture.Shared().At(releaseOf("team-a")), fixture.Shared().At(releaseOf("team-b"))
	})

	// Each spec starts with both installations configured as documented.
	BeforeEach(func(ctx context.Context) {
		a.Configure(ctx, valuesOf(a))
		b.Configure(ctx, valuesOf(b))
	})

	AfterEach(func(ctx context.Context) {
		a.Clean(ctx)
		b.Clean(ctx)
	})

	describePods()
	describeNeighbors()
	describeNetwork()
	describeCertificates()
	describeRights()
})

// releaseOf returns the release of a team in the documentation. All teams use the same release name.
func releaseOf(team string) install.Release {
	return install.Release{Name: "krmfn", Namespace: team, FunctionNamespace: team + "-functions"}
}

var documentation = regexp.MustCompile("(?ms)^```yaml\n(# team-a.yaml\n.*?)^```$")

// documented returns the values in docs/multi-tenancy.md, adapted to a team and to this cluster's registry.
func documented(f *fixture.Fixture) map[string]any {
	GinkgoHelper()
	checkout, err := binaries.Root()
	Expect(err).NotTo(HaveOccurred())
	page, err := os.ReadFile(filepath.Join(checkout, "docs", "multi-tenancy.md"))
	Expect(err).NotTo(HaveOccurred())
	found := documentation.FindSubmatch(page)
	Expect(found).To(HaveLen(2))
	text := strings.NewReplacer("team-a", f.Release.Namespace, "registry.example.org", f.Registry).Replace(string(found[1]))
	values := map[string]any{}
	Expect(yaml.UnmarshalStrict([]byte(text), &values)).To(Succeed())
	return values
}

// valuesOf returns the documented values with images that both teams may run and with image warmers enabled. It removes the network
// policies, which would block calls from this machine.
func valuesOf(f *fixture.Fixture) map[string]any {
	GinkgoHelper()
	values := documented(f)
	delete(values, "networkPolicy")
	return install.MergeValues(values, map[string]any{
		"shutdownDelay": install.ShutdownDelay,
		"images": map[string]any{"policy": map[string]any{"allow": []any{
			map[string]any{"prefix": f.Registry + "/" + f.Release.Namespace},
			map[string]any{"prefix": f.Registry + "/" + shared},
		}}},
		"pods":       map[string]any{"maxParallelPodsPerFunction": 1},
		"podJanitor": map[string]any{"schedule": leapDays},
		// No node has the label, so the image warmer creates no pods.
		"imageWarmer": map[string]any{
			"enabled": true, "images": []any{"set-labels:v0.2.0"}, "prepull": map[string]any{"nodeSelector": map[string]any{"krmfn.dev/no-node": "true"}},
		},
	})
}

// with returns an installation's values merged with additional values.
func with(f *fixture.Fixture, more map[string]any) map[string]any {
	GinkgoHelper()
	return install.MergeValues(maps.Clone(valuesOf(f)), more)
}

// push pushes a function to a path under a new full version, and returns its image.
func push(ctx context.Context, path string) string {
	GinkgoHelper()
	pushed++
	return a.PushAs(ctx, hostile.Echo, fmt.Sprintf("%s/echo:v1.0.%d", path, pushed))
}
