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

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/server/configfile"
)

const (
	// managedBy is the label for the manager of an object, and manager is its value for this package.
	managedBy = "app.kubernetes.io/managed-by"
	manager   = "krm-function-runner"
	// races is the number of attempts after conflicts with other replicas, before a pause.
	races = 5
	// maxFile is the maximum size of a Secret, in bytes.
	maxFile = corev1.MaxSecretSize
	// renewal is the maximum age of the last-use annotation before an update. Run checks it every recheck interval.
	renewal = 30 * time.Minute
)

// attempt copies the file to the Secret.
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

// read returns the content of the file, if it is valid for a Secret of this type and usable by nodes. Errors do not contain the content.
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

// put creates or updates the Secret. If another replica is faster, it returns a Conflict or AlreadyExists error.
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
	// The resource version prevents that changes of other writers are lost.
	_, err = k.config.Client.Update(ctx, updated, metav1.UpdateOptions{FieldManager: manager})
	if same {
		return err
	}
	return k.wrote(ctx, "updated", err)
}

// overdue reports whether the last-use annotation of a Secret of this package needs an update, because the pod janitor deletes Secrets
// that are no longer maintained.
func overdue(found *corev1.Secret) bool {
	if found.Labels[managedBy] != manager || found.Immutable != nil && *found.Immutable {
		return false
	}
	last, err := time.Parse(time.RFC3339, found.Annotations[functionpod.LastUseAnnotation])
	return err != nil || time.Since(last) > renewal || found.Labels[functionpod.PullSecretLabel] != functionpod.Keeper
}

// mark sets the labels and the annotation of a Secret that this package maintains.
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

// obstacle is an error for a Secret that must not be written.
type obstacle struct{ text string }

func (e *obstacle) Error() string { return e.text }

// usable returns an error if the Secret must not be written. A Secret with another manager must not be written, because both writers
// would overwrite each other continuously. A Secret without the label comes from Porch's function runner and can be written.
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

// explain adds advice to an error. It keeps only the reason of an API server's response, because the message may come from an admission
// webhook and quote the request.
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
