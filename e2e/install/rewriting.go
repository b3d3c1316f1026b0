// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/crane"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// MirroredTag is the tag that RewriteImages puts into image references.
	MirroredTag = "mirrored"
	rewriting   = "krmfn-e2e-rewriting"
)

// Mirror adds MirroredTag to an image.
func (i *Installation) Mirror(ctx context.Context, image string) error {
	return crane.Tag(image, MirroredTag, crane.WithContext(ctx), crane.Insecure)
}

// RewriteImages makes the API server replace digests with MirroredTag in the images of new function pods, like admission webhooks of sites
// with a mirror. It returns when the policy is in force, which it tests with dry runs of a pod with the spec of like.
func (i *Installation) RewriteImages(ctx context.Context, like *corev1.Pod) error {
	policies, bindings := i.Client.AdmissionregistrationV1().MutatingAdmissionPolicies(), i.Client.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	_, err := policies.Create(ctx, &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: rewriting},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      new(admissionv1.Fail),
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				},
			}}},
			MatchConditions: []admissionv1.MatchCondition{{
				Name:       "function",
				Expression: fmt.Sprintf("object.metadata.namespace == %q && object.spec.containers[0].image.contains('@')", i.Release.FunctionNamespace),
			}},
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeJSONPatch,
				JSONPatch: &admissionv1.JSONPatch{Expression: fmt.Sprintf(
					`[JSONPatch{op: "replace", path: "/spec/containers/0/image", value: object.spec.containers[0].image.split('@')[0] + ":%s"}]`, MirroredTag)},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("rewrite images: %w", err)
	}
	_, err = bindings.Create(ctx, &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: rewriting},
		Spec:       admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: rewriting},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("rewrite images: %w", err)
	}
	return i.awaitRewriting(ctx, like, true)
}

// KeepImages undoes RewriteImages. It returns when the API server keeps images; a deleted policy stays in force for a short time.
func (i *Installation) KeepImages(ctx context.Context, like *corev1.Pod) error {
	policies, bindings := i.Client.AdmissionregistrationV1().MutatingAdmissionPolicies(), i.Client.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	if err := bindings.Delete(ctx, rewriting, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := policies.Delete(ctx, rewriting, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return i.awaitRewriting(ctx, like, false)
}

// awaitRewriting waits until the API server rewrites the images of pods, or keeps them. It creates pods with the spec of like in dry-run
// mode.
func (i *Installation) awaitRewriting(ctx context.Context, like *corev1.Pod, rewritten bool) error {
	trial := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: rewriting}, Spec: *like.Spec.DeepCopy()}
	trial.Spec.NodeName = ""
	return await(ctx, fmt.Sprintf("the API server rewrites images: %t", rewritten), func(ctx context.Context) (bool, error) {
		got, err := i.Client.CoreV1().Pods(i.Release.FunctionNamespace).Create(ctx, trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && strings.HasSuffix(got.Spec.Containers[0].Image, ":"+MirroredTag) == rewritten, err
	})
}
