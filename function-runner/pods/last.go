// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/krmfn/krmfn/services/cluster/connect"
)

// Last tells whether this function runner's Deployment has been scaled to 0: callers have no other replica to go to, and get none. It is
// false where that is not known when ctx ends. A Deployment that was deleted tells nothing: another one may take its place.
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

// scale returns the replicas that a Deployment is scaled to.
func (p *Pods) scale(ctx context.Context, deployment string) (replicas int32, err error) {
	path := []string{"/apis/apps/v1/namespaces", connect.OwnNamespace(), "deployments", deployment, "scale"}
	answer, err := p.cluster.Get().AbsPath(path...).Do(ctx).Raw()
	if err != nil {
		return 0, err
	}
	var scale struct {
		Kind string `json:"kind"`
		Spec struct {
			// Replicas are left out of the answer where they are 0.
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
