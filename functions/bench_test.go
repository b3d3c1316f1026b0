// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// benchmarkList returns a list with a given number of Deployments and Services.
func benchmarkList(resources int) []byte {
	var items strings.Builder
	for i := range resources / 2 {
		fmt.Fprintf(&items, `- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: app-%[1]d
    namespace: default
    labels:
      app: app-%[1]d
    annotations:
      internal.config.kubernetes.io/path: 'app-%[1]d.yaml'
      internal.config.kubernetes.io/index: '0'
  spec:
    replicas: 3
    selector:
      matchLabels:
        app: app-%[1]d
    template:
      metadata:
        labels:
          app: app-%[1]d
      spec:
        containers:
        - name: app
          image: "registry.example.com/app:1.2.3" # kpt-set: registry.example.com/app:${tag}
          ports:
          - containerPort: 8080
          resources:
            limits: {cpu: "1", memory: 1Gi}
- apiVersion: v1
  kind: Service
  metadata:
    name: app-%[1]d
    namespace: default
    annotations:
      internal.config.kubernetes.io/path: 'app-%[1]d.yaml'
      internal.config.kubernetes.io/index: '1'
  spec:
    selector:
      app: app-%[1]d
    ports:
    - port: 80
      targetPort: 8080
`, i)
	}
	return []byte(functiontest.List(items.String(), workConfigs["set-labels"]))
}

func BenchmarkSetLabels(b *testing.B) {
	benchmark(b, "set-labels", benchmarkList)
}

func BenchmarkEnsureNameSubstring(b *testing.B) {
	benchmark(b, "ensure-name-substring", func(resources int) []byte {
		return bytes.Replace(benchmarkList(resources), []byte(functiontest.Indent(workConfigs["set-labels"])),
			[]byte(functiontest.Indent(workConfigs["ensure-name-substring"])), 1)
	})
}

func benchmark(b *testing.B, name string, list func(resources int) []byte) {
	b.Helper()
	f, _ := Lookup(name)
	for _, resources := range []int{10, 5000} {
		b.Run(fmt.Sprintf("%d resources", resources), func(b *testing.B) {
			in := list(resources)
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := function.Run(b.Context(), f, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
