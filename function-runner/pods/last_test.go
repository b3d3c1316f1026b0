// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/internal/cluster/client"
	"github.com/krmfn/krmfn/internal/cluster/connect"
)

// Last returns true only for a Deployment that is scaled to 0, and false if the scale is unknown.
func TestLast(t *testing.T) {
	t.Parallel()
	const (
		forbidden = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
		gone      = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	)
	for name, test := range map[string]struct {
		deployment, answer string
		want               bool
	}{
		"scaled to 0":     {deployment: "function-runner", answer: `{"kind":"Scale","apiVersion":"autoscaling/v1","spec":{},"status":{"replicas":2}}`, want: true},
		"a rollout":       {deployment: "function-runner", answer: `{"kind":"Scale","apiVersion":"autoscaling/v1","spec":{"replicas":1},"status":{"replicas":2}}`},
		"may not be read": {deployment: "function-runner", answer: forbidden},
		"deleted":         {deployment: "function-runner", answer: gone},
		"not asked":       {answer: `{"kind":"Scale","apiVersion":"autoscaling/v1","spec":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConfig(t)
			c.Options.Deployment = test.deployment
			kubeconfig := serve(t, func(r *http.Request) string {
				if strings.HasSuffix(r.URL.Path, "/deployments/function-runner/scale") && r.Method == http.MethodGet {
					return test.answer
				}
				return ""
			})
			config, err := connect.Config(kubeconfig, "function-runner")
			if err != nil {
				t.Fatal(err)
			}
			cluster, err := client.New(config)
			if err != nil {
				t.Fatal(err)
			}
			p := &Pods{config: c, cluster: cluster}
			if got := p.Last(t.Context()); got != test.want {
				t.Errorf("Last() = %t, want %t", got, test.want)
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			if p.Last(over) {
				t.Error("Last() with a cancelled context = true, want false")
			}
		})
	}
}
