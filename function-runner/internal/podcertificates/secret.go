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
	// races is the number of attempts after conflicts with other replicas, before a pause.
	races = 5
	// lastPart is the divisor of an authority's lifetime: in the last third, the authority gets a successor. The remaining time must
	// suffice to replace the pods that trust only the older authority when they are idle.
	lastPart = 3
)

// read reads the Secret, adds an authority if one is due, and reports whether Trust has changed.
func (k *Keeper) read(ctx context.Context) (changed bool, err error) {
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

// current returns the authorities in the Secret, after it has added an authority if one is due. If another replica is faster, it returns
// a Conflict or AlreadyExists error.
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
		if apierrors.IsForbidden(err) {
			err = errMissing
		}
	} else {
		// The resource version prevents that an authority of another replica is lost.
		updated := secret.DeepCopy()
		updated.Data = data
		_, err = k.config.Client.Update(ctx, updated, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err == nil {
		k.config.Log.InfoContext(ctx, "a certificate authority for function pods was made", "secret", k.name(), "expires", next[0].certificate.NotAfter)
	}
	return next, err
}

// renewed returns the unexpired authorities, with a new one in front if the newest is due for replacement.
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

// errMissing replaces the API server's error, which would send people to the permissions. The chart creates the Secret.
var errMissing = errors.New("NotFound: create it again with helm upgrade and the same values (--reset-then-reuse-values)")

var errForeign = errors.New("it has a " + caKey + ", so that somebody else keeps it: name it as an external one, or give another")

func (k *Keeper) name() string { return k.config.Namespace + "/" + k.config.Name }

// explain adds advice to an error. It keeps only the reason of an API server's response, because the message may quote the request.
func (k *Keeper) explain(err error) error {
	var status apierrors.APIStatus
	switch {
	case !errors.As(err, &status):
		return fmt.Errorf("use Secret %s (--function-pod-ca-secret): %w", k.name(), err)
	case apierrors.IsForbidden(err) && k.config.Mode == Own:
		return fmt.Errorf("use Secret %s (--function-pod-ca-secret): Forbidden: allow the function runner to get and update it", k.name())
	case apierrors.IsForbidden(err):
		return fmt.Errorf("use Secret %s (--function-pod-ca-secret): Forbidden: allow the function runner to get it", k.name())
	}
	return fmt.Errorf("use Secret %s (--function-pod-ca-secret): %s", k.name(), apierrors.ReasonForError(err))
}
