// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package rendering_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/plain"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	builtin "github.com/krmfn/krmfn/services/render/runtime"
	"github.com/krmfn/krmfn/task-handler/internal/rendering"
)

const (
	pipeline = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n" +
		"    - image: set-namespace\n      configMap: {namespace: shop}\n" +
		"    - image: set-labels\n      configMap: {team: shop}\n" +
		"    - image: set-annotations\n      configMap: {owner: shop}\n"
	configMap  = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: item-%d\ndata:\n  key: value # comment\n  other: \"1\"\n"
	deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: item-%d
  labels:
    app.kubernetes.io/name: shop
    app.kubernetes.io/component: backend
spec:
  replicas: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: shop
      app.kubernetes.io/component: backend
  template:
    metadata:
      labels:
        app.kubernetes.io/name: shop
        app.kubernetes.io/component: backend
    spec:
      serviceAccountName: shop
      containers:
      - name: server
        image: registry.example.com/shop/backend:v1.27.3 # the release
        args:
        - --listen-address=0.0.0.0:8080
        - --database=postgresql://database.shop.svc:5432/shop
        ports:
        - name: http
          containerPort: 8080
        env:
        - name: LOG_LEVEL
          value: info
        - name: PASSWORD
          valueFrom:
            secretKeyRef:
              name: database
              key: password
        readinessProbe:
          httpGet:
            path: /ready
            port: http
          periodSeconds: 5
        resources:
          requests:
            cpu: 250m
            memory: 256Mi
          limits:
            memory: 256Mi
        volumeMounts:
        - name: config
          mountPath: /etc/shop
      volumes:
      - name: config
        configMap:
          name: shop-config
`
)

// BenchmarkLiveHeap renders packages of 1.6 MB and reports the maximum live heap per byte of the package, which MemoryPerByte of package
// service must exceed. It measures between functions, and after each function with its input and output.
func BenchmarkLiveHeap(b *testing.B) {
	const prefix = "ghcr.io/kptdev/krm-functions-catalog/"
	functions := builtin.Builtin{Functions: plain.Functions(), Prefix: prefix}
	for name, tc := range map[string]struct {
		resource string
		measured func(*peak) evaluation.Evaluator
	}{
		"builtin/configmaps":  {configMap, func(p *peak) evaluation.Evaluator { return inProcess{functions, p} }},
		"builtin/deployments": {deployment, func(p *peak) evaluation.Evaluator { return inProcess{functions, p} }},
		"runner/configmaps":   {configMap, func(p *peak) evaluation.Evaluator { return remote{functions, p} }},
		"runner/deployments":  {deployment, func(p *peak) evaluation.Evaluator { return remote{functions, p} }},
	} {
		b.Run(name, func(b *testing.B) {
			files, size := largePackage(tc.resource)
			var p peak
			renderer := rendering.New(render.Options{Evaluator: tc.measured(&p), ImagePrefix: prefix})
			for b.Loop() {
				p.before = live()
				result, err := renderer(b.Context(), rendering.Request{Files: files, Observe: func(render.Event) { p.measure() }})
				if err != nil || result.Report.Error != "" {
					b.Fatalf("%v %s", err, result.Report.Error)
				}
			}
			b.ReportMetric(float64(p.most)/float64(size), "live-B/package-B")
		})
	}
}

func largePackage(resource string) (files []packages.File, size int) {
	for i := 0; size < 1600<<10; i++ {
		var content []byte
		for j := range 10 {
			content = fmt.Appendf(append(content, "---\n"...), resource, 10*i+j)
		}
		size += len(content)
		files = append(files, packages.File{Path: fmt.Sprintf("dir/file-%d.yaml", i), Content: content})
	}
	return append(files, packages.File{Path: "Kptfile", Content: []byte(pipeline)}), size
}

// peak is the maximum growth of the live heap, in bytes.
type peak struct{ before, most int64 }

// measure runs the garbage collector and updates the maximum.
func (p *peak) measure() { p.most = max(p.most, live()-p.before) }

// live returns the size of the live heap in bytes.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// inProcess evaluates functions with lists in memory.
type inProcess struct {
	builtin.Builtin
	*peak
}

func (e inProcess) EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error) {
	defer e.measure()
	return e.Builtin.EvaluateList(ctx, image, list)
}

// remote evaluates functions with serialised lists, like a function runner, whose memory is not measured.
type remote struct {
	evaluation.Evaluator
	*peak
}

func (e remote) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	defer e.measure()
	return e.Evaluator.Evaluate(ctx, req)
}
