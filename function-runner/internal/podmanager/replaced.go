// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"slices"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/services/cluster/injection"
)

// refusalPause is how long after a refusal of a node by the registry another one means that the pull secret is wrong, and not that the
// node did not have it yet.
const refusalPause = time.Minute

// ReplacedError reports that a pod did not start, and that the next one may: pods are created differently from now on, or what was
// lacking is there meanwhile. Retry the call.
type ReplacedError struct {
	// Err is why the pod did not start.
	Err error
}

func (e *ReplacedError) Error() string { return e.Err.Error() }

// Retry tells the pool that the next pod need not fail as well.
func (e *ReplacedError) Retry() bool { return true }

// Unwrap returns why the pod did not start.
func (e *ReplacedError) Unwrap() error { return e.Err }

// replaced returns the error of a pod that did not start, as a ReplacedError if the next one may.
func (w *workload) replaced(mem *member, reason string, err error) error {
	switch {
	case podtemplate.HasImageVolume(mem.object) && injection.RefusedByNode(reason, err.Error(), podtemplate.ToolsDir):
		return w.m.withoutImageVolumes(err)
	case len(mem.object.Spec.ImagePullSecrets) > 0 && slices.Contains(pulls, reason) && mentions(err.Error(), refusals) && w.withoutSecret(mem):
		return &ReplacedError{Err: err}
	}
	return err
}

// withoutSecret tells whether the registry may have refused a pod's node because the node had no pull secret yet. The API server shows
// a Secret to a node only when it knows that one of the node's pods refers to it. It learns that shortly after the kubelet, which does
// not wait, but pulls without credentials. Pods that were created before the first refusal belong to the same attempt.
func (w *workload) withoutSecret(mem *member) bool {
	refusal := w.refusals[mem.object.Spec.NodeName]
	if mem.seen.Before(refusal) {
		return true
	}
	if time.Since(refusal) <= refusalPause {
		return false
	}
	w.refusals[mem.object.Spec.NodeName] = time.Now()
	return true
}

// withoutImageVolumes turns image volumes off after an error that they caused.
func (m *Manager) withoutImageVolumes(err error) error {
	if m.config.Templates.RefuseImageVolumes(err.Error()) {
		m.generation++
	} else if podtemplate.HasImageVolume(&m.config.Templates.Current().Pod) {
		return err
	}
	return &ReplacedError{Err: err}
}
