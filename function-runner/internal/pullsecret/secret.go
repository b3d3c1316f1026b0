// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pullsecret

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/server/configfile"
)

const (
	// managedBy is the label that says who keeps an object, and manager its value for ours.
	managedBy = "app.kubernetes.io/managed-by"
	manager   = "krm-function-runner"
	// races is how often another replica may be first, before a pause.
	races = 5
	// maxFile is the most bytes that a Secret can have.
	maxFile = corev1.MaxSecretSize
	// renewal is how old the mark that a Secret is kept may become. It is looked at every recheck.
	renewal = 30 * time.Minute
)

// attempt makes the Secret what the file is.
func (k *Keeper) attempt(ctx context.Context) error {
	content, err := read(k.config.File)
	if err != nil {
		return err
	}
	if k.written != nil && bytes.Equal(content, k.written) && time.Since(k.checked) < recheck {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	for range races {
		if err = k.put(ctx, content); err == nil {
			k.written, k.checked = content, time.Now()
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	return k.explain(err)
}

// read returns the file's content. What a Secret of this type could not hold, or nodes not use, must not replace what they
// have. The errors have nothing of the content.
func read(name string) ([]byte, error) {
	content, err := configfile.Read(name, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read the credentials for the pull secret: %w", err)
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("the docker config %s is larger than %d bytes, the most that a Secret can have", name, maxFile)
	}
	var config struct {
		Auths map[string]struct{} `json:"auths"`
	}
	if json.Unmarshal(content, &config) != nil || config.Auths == nil {
		return nil, fmt.Errorf("the docker config %s is not understood: want JSON with an object auths (nodes use no credential helpers)", name)
	}
	return content, nil
}

// put makes or updates the Secret. Another replica may be first: the error is a conflict, or that it exists.
func (k *Keeper) put(ctx context.Context, content []byte) error {
	found, err := k.config.Client.Get(ctx, k.config.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = k.config.Client.Create(ctx, k.secret(content), metav1.CreateOptions{FieldManager: manager})
		return k.wrote(ctx, "created", err)
	}
	if err != nil {
		return err
	}
	same := bytes.Equal(found.Data[corev1.DockerConfigJsonKey], content)
	if found.Type == corev1.SecretTypeDockerConfigJson && same && found.DeletionTimestamp == nil && !overdue(found) {
		return nil
	}
	if err := k.usable(found); err != nil {
		return err
	}
	updated := found.DeepCopy()
	if updated.Data == nil {
		updated.Data = map[string][]byte{}
	}
	updated.Data[corev1.DockerConfigJsonKey] = content
	mark(updated)
	// The resource version that was found goes with it, so that no other writer's change is lost.
	_, err = k.config.Client.Update(ctx, updated, metav1.UpdateOptions{FieldManager: manager})
	if same {
		return err
	}
	return k.wrote(ctx, "updated", err)
}

// overdue tells whether a Secret of ours is to be marked as kept anew, or the pod janitor would take it for one that nobody
// keeps any more.
func overdue(found *corev1.Secret) bool {
	if found.Labels[managedBy] != manager || found.Immutable != nil && *found.Immutable {
		return false
	}
	last, err := time.Parse(time.RFC3339, found.Annotations[functionpod.LastUseAnnotation])
	return err != nil || time.Since(last) > renewal || found.Labels[functionpod.PullSecretLabel] != functionpod.Keeper
}

// mark says on a Secret whose it is, and that it is kept.
func mark(secret *corev1.Secret) {
	metav1.SetMetaDataLabel(&secret.ObjectMeta, managedBy, manager)
	metav1.SetMetaDataLabel(&secret.ObjectMeta, functionpod.PullSecretLabel, functionpod.Keeper)
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, functionpod.LastUseAnnotation, time.Now().UTC().Format(time.RFC3339))
}

func (k *Keeper) secret(content []byte) *corev1.Secret {
	made := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: k.config.Name, Namespace: k.config.Namespace},
		Type:       corev1.SecretTypeDockerConfigJson,
		Data:       map[string][]byte{corev1.DockerConfigJsonKey: content},
	}
	mark(made)
	return made
}

func (k *Keeper) wrote(ctx context.Context, how string, err error) error {
	if err == nil {
		k.config.Log.InfoContext(ctx, "pull secret of the function pods "+how, "secret", k.name())
	}
	return err
}

func (k *Keeper) name() string { return k.config.Namespace + "/" + k.config.Name }

// obstacle is why a Secret is not to be written.
type obstacle struct{ text string }

func (e *obstacle) Error() string { return e.text }

// usable tells whether a Secret may be written. One that says of itself that somebody else keeps it is left alone, or both
// would write for ever. One that says nothing is of Porch's function runner, which wrote the same.
func (k *Keeper) usable(found *corev1.Secret) error {
	const otherwise = "remove it, or give another name with --registry-auth-secret-name"
	switch by := found.Labels[managedBy]; {
	case found.Type != corev1.SecretTypeDockerConfigJson:
		return &obstacle{fmt.Sprintf("Secret %s has the type %s, want %s, which cannot be changed: %s", k.name(), found.Type, corev1.SecretTypeDockerConfigJson, otherwise)}
	case by != "" && by != manager:
		return &obstacle{fmt.Sprintf("Secret %s has other content than the docker config and is managed by %q: have that write the content of %s, or %s", k.name(), by, k.config.File, otherwise)}
	case found.Immutable != nil && *found.Immutable:
		return &obstacle{fmt.Sprintf("Secret %s is immutable and has other content than the docker config: %s", k.name(), otherwise)}
	case found.DeletionTimestamp != nil:
		return &obstacle{fmt.Sprintf("Secret %s is being deleted", k.name())}
	}
	return nil
}

// explain says what an error means and what to do. Of an answer of the API server it has the reason and no more: the message
// may be an admission webhook's, and quote what was sent.
func (k *Keeper) explain(err error) error {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, new(*obstacle)):
		return err
	case !errors.As(err, &status):
		return fmt.Errorf("write Secret %s: %w", k.name(), err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("write Secret %s: Forbidden: allow the function runner to get, create and update secrets in namespace %s, "+
			"and look whether a quota or an admission webhook refuses", k.name(), k.config.Namespace)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("write Secret %s: NotFound: make the namespace %s", k.name(), k.config.Namespace)
	}
	return fmt.Errorf("write Secret %s: %s, %d: look into the API server's audit log for the message",
		k.name(), apierrors.ReasonForError(err), status.Status().Code)
}
