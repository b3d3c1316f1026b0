// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"slices"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

// refusalPause is the time after which another refusal of a node by the registry no longer counts as a wrong pull secret, but again as a
// node that does not have the secret yet.
const refusalPause = time.Minute

// ReplacedError reports that a pod did not start, but that the next one may, because pods are created differently from now on, or the
// missing Secret or quota may be available. Retry the call.
type ReplacedError struct {
	// Err is why the pod did not start.
	Err error
}

func (e *ReplacedError) Error() string { return e.Err.Error() }

// Retry reports that the next pod may start, so that the pool does not back off.
func (e *ReplacedError) Retry() bool { return true }

// Unwrap returns why the pod did not start.
func (e *ReplacedError) Unwrap() error { return e.Err }

// replaced returns the error of a pod that did not start, as a ReplacedError if the next pod may start.
func (w *workload) replaced(mem *member, reason string, err error) error {
	switch {
	case podtemplate.HasImageVolume(mem.object) && injection.RefusedByNode(reason, err.Error(), podtemplate.ToolsDir):
		return w.m.withoutImageVolumes(err)
	case len(mem.object.Spec.ImagePullSecrets) > 0 && slices.Contains(pulls, reason) && mentions(err.Error(), refusals) && w.withoutSecret(mem):
		return &ReplacedError{Err: err}
	}
	return err
}

// withoutSecret reports whether the registry may have refused the node because the node did not have the pull secret yet. The API server
// lets a node read a Secret only after it knows that a pod of the node refers to the Secret. The kubelet may be faster, and pulls without
// credentials then. Pods that were created before the first refusal belong to the same attempt.
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

// withoutImageVolumes disables image volumes after an error that they caused.
func (m *Manager) withoutImageVolumes(err error) error {
	if m.config.Templates.RefuseImageVolumes(err.Error()) {
		m.generation++
	} else if podtemplate.HasImageVolume(&m.config.Templates.Current().Pod) {
		return err
	}
	return &ReplacedError{Err: err}
}
