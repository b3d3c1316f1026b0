// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"slices"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/services/cluster/injection"
)

// refusalPause is how long after a refusal by the registry no other one is put down to a node without its pull secret: the secret is
// wrong.
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
func (p *Pool) replaced(mem *member, reason string, err error) error {
	switch {
	case podtemplate.HasImageVolume(mem.object) && injection.RefusedByNode(reason, err.Error(), podtemplate.ToolsDir):
		return p.m.withoutImageVolumes(err)
	case len(mem.object.Spec.ImagePullSecrets) > 0 && slices.Contains(pulls, reason) && mentions(err.Error(), refusals) && p.withoutSecret(mem):
		return &ReplacedError{Err: err}
	}
	return err
}

// withoutSecret tells whether the registry may have refused a pod's node because the node had no pull secret yet. The API server shows
// a Secret to a node only when it knows that one of the node's pods refers to it. It learns that shortly after the kubelet, which does
// not wait, but pulls without credentials. Pods that were made before the first refusal belong to the same attempt. The manager's lock
// is held.
func (p *Pool) withoutSecret(mem *member) bool {
	if mem.seen.Before(p.refusal) {
		return true
	}
	if time.Since(p.refusal) <= refusalPause {
		return false
	}
	p.refusal = time.Now()
	return true
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
