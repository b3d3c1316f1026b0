// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podcertificates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	fieldManager = "krm-function-runner"
	// races is how often another replica may be first, before a pause.
	races = 5
	// lastPart is the share of its lifetime, one third, at the beginning of which an authority gets a successor. Function pods that
	// trust only the older one are replaced as they fall idle, in the time that is left.
	lastPart = 3
)

// look reads the Secret, and writes it where an authority is due. It tells whether Trust has changed.
func (k *Keeper) look(ctx context.Context) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	for range races {
		var authorities []authority
		if authorities, err = k.current(ctx); err == nil {
			return k.adopt(authorities), nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	return false, k.explain(err)
}

// current returns what is in the Secret, after an authority that was due has been added. Another replica may be first: the error is a
// conflict, or that it exists.
func (k *Keeper) current(ctx context.Context) ([]authority, error) {
	secret, err := k.config.Client.Get(ctx, k.config.Name, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err) && k.config.Mode == Own
	if err != nil && !missing {
		return nil, err
	}
	var authorities []authority
	if !missing && (len(secret.Data) > 0 || k.config.Mode != Own) {
		if authorities, err = parse(secret); err != nil {
			return nil, err
		}
	}
	if k.config.Mode != Own {
		return authorities, nil
	}
	if len(authorities) > 0 && len(secret.Data[caKey]) > 0 {
		return nil, errForeign
	}
	next, err := k.renewed(authorities)
	if err != nil || len(next) > 0 && slices.EqualFunc(next, authorities, func(a, b authority) bool { return a.certificate.Equal(b.certificate) }) {
		return next, err
	}
	data, err := encode(next)
	if err != nil {
		return nil, err
	}
	if missing {
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: k.config.Name, Namespace: k.config.Namespace}, Data: data}
		_, err = k.config.Client.Create(ctx, made, metav1.CreateOptions{FieldManager: fieldManager})
	} else {
		// The resource version that was found goes with it, so that no other replica's authority is lost.
		updated := secret.DeepCopy()
		updated.Data = data
		_, err = k.config.Client.Update(ctx, updated, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err == nil {
		k.config.Log.InfoContext(ctx, "a certificate authority for function pods was made", "secret", k.name(), "expires", next[0].certificate.NotAfter)
	}
	return next, err
}

// renewed returns authorities without those that have expired, and with a new one in front where the newest is to be replaced.
func (k *Keeper) renewed(authorities []authority) ([]authority, error) {
	now := time.Now()
	var next []authority
	for _, a := range authorities {
		if now.Before(a.certificate.NotAfter) {
			next = append(next, a)
		}
	}
	if len(next) > 0 {
		newest := next[0].certificate
		if now.Before(newest.NotAfter.Add(-newest.NotAfter.Sub(newest.NotBefore.Add(skew)) / lastPart)) {
			return next, nil
		}
	}
	made, err := newAuthority(k.config.AuthorityLifetime)
	return append([]authority{made}, next...), err
}

var errForeign = errors.New("it has a " + caKey + ", so that somebody else keeps it: name it as an external one, or give another")

func (k *Keeper) name() string { return k.config.Namespace + "/" + k.config.Name }

// explain says what to do. Of an answer of the API server it has the reason and no more: the message may quote what was sent.
func (k *Keeper) explain(err error) error {
	var status apierrors.APIStatus
	switch {
	case !errors.As(err, &status):
		return fmt.Errorf("use Secret %s (--function-pod-ca-secret): %w", k.name(), err)
	case apierrors.IsForbidden(err) && k.config.Mode == Own:
		return fmt.Errorf("use Secret %s (--function-pod-ca-secret): Forbidden: create it without data, and allow the function runner to get and update it", k.name())
	case apierrors.IsForbidden(err):
		return fmt.Errorf("use Secret %s (--function-pod-ca-secret): Forbidden: allow the function runner to get it", k.name())
	}
	return fmt.Errorf("use Secret %s (--function-pod-ca-secret): %s", k.name(), apierrors.ReasonForError(err))
}
