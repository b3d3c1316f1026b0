// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/services/cluster/injection"
)

// refusalPause is how long after a pod that was replaced because the registry refused its node the next one is not: the pull secret is
// wrong then.
const refusalPause = time.Minute

// ReplacedError says that a pod did not start, and that the next one may: pods are made differently from now on, or the node has in
// the meantime what it lacked. Retry the call.
type ReplacedError struct {
	// Err is why the pod did not start.
	Err error
}

func (e *ReplacedError) Error() string { return e.Err.Error() }

// Retry tells the pool that the next pod need not fail as well.
func (e *ReplacedError) Retry() bool { return true }

// Unwrap returns why the pod did not start.
func (e *ReplacedError) Unwrap() error { return e.Err }

// replaced returns the error of a pod that did not start, as a ReplacedError if the next one may. The manager's lock is held.
func (p *Pool) replaced(pod *corev1.Pod, reason string, err error) error {
	switch {
	case podtemplate.HasImageVolume(pod) && injection.RefusedByNode(reason, err.Error(), podtemplate.ToolsDir):
		return p.m.withoutImageVolumes(err)
	case p.withoutSecret(pod, reason, err):
		p.refused = time.Now()
		return &ReplacedError{Err: err}
	}
	return err
}

// withoutSecret tells whether the registry may have refused a node because the node had no pull secret yet. The API server shows a
// Secret to a node only when it knows that one of the node's pods refers to it. It learns that shortly after the kubelet, which does
// not wait, but pulls without credentials. The manager's lock is held.
func (p *Pool) withoutSecret(pod *corev1.Pod, reason string, err error) bool {
	return len(pod.Spec.ImagePullSecrets) > 0 && slices.Contains(pulls, reason) && mentions(err.Error(), refusals) &&
		time.Since(p.refused) > refusalPause
}

// withoutImageVolumes turns image volumes off after an error that they caused. The manager's lock is held.
func (m *Manager) withoutImageVolumes(err error) error {
	if m.config.Templates.RefuseImageVolumes(err.Error()) {
		m.epoch++
	} else if podtemplate.HasImageVolume(&m.config.Templates.Current().Pod) {
		return err
	}
	return &ReplacedError{Err: err}
}
