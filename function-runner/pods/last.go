// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/krmfn/krmfn/internal/cluster/connect"
)

// Last reports whether the function runner's Deployment is scaled to 0, so that no other replica will serve the callers. It returns false
// if the scale is unknown when ctx ends. A deleted Deployment counts as unknown, because another one may replace it.
func (p *Pods) Last(ctx context.Context) bool {
	name := p.config.Options.Deployment
	if name == "" {
		return false
	}
	replicas, err := p.scale(ctx, name)
	if err != nil {
		p.config.Log.Info("whether there are other replicas is not known, new calls are answered for --shutdown-delay", "deployment", name, "err", err)
		return false
	}
	return replicas == 0
}

// scale returns the desired number of replicas of a Deployment.
func (p *Pods) scale(ctx context.Context, deployment string) (replicas int32, err error) {
	path := []string{"/apis/apps/v1/namespaces", connect.OwnNamespace(), "deployments", deployment, "scale"}
	answer, err := p.cluster.Get().AbsPath(path...).Do(ctx).Raw()
	if err != nil {
		return 0, err
	}
	var scale struct {
		Kind string `json:"kind"`
		Spec struct {
			// The API server omits replicas if it is 0.
			Replicas int32 `json:"replicas"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(answer, &scale); err != nil {
		return 0, err
	}
	if scale.Kind != "Scale" {
		return 0, fmt.Errorf("the API server answers with an object of kind %q, want Scale", scale.Kind)
	}
	return scale.Spec.Replicas, nil
}
