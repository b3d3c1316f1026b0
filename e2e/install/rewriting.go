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
	// MirroredTag is the tag that RewriteImages has pods name images by.
	MirroredTag = "mirrored"
	rewriting   = "krmfn-e2e-rewriting"
)

// Mirror gives the image of a reference MirroredTag, too.
func (i *Installation) Mirror(ctx context.Context, image string) error {
	return crane.Tag(image, MirroredTag, crane.WithContext(ctx), crane.Insecure)
}

// RewriteImages has the API server name the images of functions by MirroredTag rather than by digest in pods that are created from
// now on, as admission webhooks of sites with a mirror do. It returns once that is in force, which a live pod of any function
// serves to find out.
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

// KeepImages ends what RewriteImages has begun, and returns once images are kept: the API server acts on a policy for a while after
// it was deleted.
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

// awaitRewriting returns when the API server rewrites the images of pods, or keeps them. Pods like the one given are tried.
func (i *Installation) awaitRewriting(ctx context.Context, like *corev1.Pod, rewritten bool) error {
	trial := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: rewriting}, Spec: *like.Spec.DeepCopy()}
	trial.Spec.NodeName = ""
	return await(ctx, fmt.Sprintf("the API server rewrites images: %t", rewritten), func(ctx context.Context) (bool, error) {
		got, err := i.Client.CoreV1().Pods(i.Release.FunctionNamespace).Create(ctx, trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && strings.HasSuffix(got.Spec.Containers[0].Image, ":"+MirroredTag) == rewritten, err
	})
}
