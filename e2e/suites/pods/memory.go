// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"bytes"
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
)

var _ = Describe("A function runner with 1 GiB of memory", Ordered, func() {
	const (
		setLabels = "set-labels:v0.2.0" // The function runner's image contains this executable.
		callers   = 20
		unary     = 6 << 20
		streamed  = 64 << 20
	)

	BeforeAll(func(ctx context.Context) {
		f.Configure(ctx, map[string]any{
			"pods":      limits("30s"),
			"replicas":  1,
			"extraArgs": []any{}, // Without --disable-runtimes=exec, executables are enabled.
			// The labels make a response longer than its request.
			"maxRequestBodySize": 8 << 20,
			"resources": map[string]any{
				"requests": map[string]any{"cpu": "200m", "memory": "512Mi"},
				"limits":   map[string]any{"memory": "1Gi"},
			},
		})
	})

	It("rejects calls and is not killed when lists exceed its memory", func(ctx context.Context) {
		before, err := f.Runners(ctx)
		Expect(err).NotTo(HaveOccurred())
		list, long := configMaps(unary), configMaps(streamed)
		clients := f.Callers(ctx, callers+1)
		succeeded := make([]bool, len(clients))
		errs := fixture.Together(len(clients), func(number int) error {
			client := clients[number]
			defer client.Close()
			ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
			defer cancel()
			var err error
			if number == callers {
				_, err = client.EvaluateStream(ctx, setLabels, long)
			} else {
				_, err = client.Evaluate(ctx, setLabels, list)
			}
			succeeded[number] = err == nil
			if install.Code(err) == codes.ResourceExhausted {
				return nil
			}
			return err
		})
		Expect(errs).To(HaveEach(Succeed()))
		Expect(succeeded[:callers]).To(ContainElement(true), "the function runner rejected every call, want at least one success")
		after, err := f.Runners(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(restarts(after)).To(Equal(restarts(before)))
	})
})

// restarts returns the number of container restarts by pod name.
func restarts(pods []corev1.Pod) map[string]int32 {
	counts := map[string]int32{}
	for i := range pods {
		for _, status := range pods[i].Status.ContainerStatuses {
			counts[pods[i].Name] += status.RestartCount
		}
	}
	return counts
}

// configMaps returns a ResourceList of about the given size in bytes.
func configMaps(size int) []byte {
	const item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: cm-%d\n    labels:\n      app: web\n  data:\n    key: value\n    other: another value\n"
	var list bytes.Buffer
	list.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n" +
		"functionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {tier: backend}}\nitems:\n")
	for i := 0; list.Len() < size-len(item)-10; i++ {
		fmt.Fprintf(&list, item, i)
	}
	return list.Bytes()
}
