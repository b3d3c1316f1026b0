// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/services/cluster/connect"
)

// Last tells whether this function runner's Deployment has been scaled to 0: callers have no other replica to go to, and get none. It is
// false where that is not known when ctx ends. A Deployment that was deleted tells nothing: another one may take its place.
func (p *Pods) Last(ctx context.Context) bool {
	name := p.config.Options.Deployment
	if name == "" {
		return false
	}
	scale, err := p.client.AppsV1().Deployments(connect.OwnNamespace()).GetScale(ctx, name, metav1.GetOptions{})
	if err != nil {
		p.config.Log.Info("whether there are other replicas is not known, new calls are answered for --shutdown-delay", "deployment", name, "err", err)
		return false
	}
	return scale.Spec.Replicas == 0
}
