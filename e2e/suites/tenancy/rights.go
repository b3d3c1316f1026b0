// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package tenancy

import (
	"context"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
)

const (
	// runnerAccount is the service account of function runners. podAuthority is the Secret with their certificate authority.
	runnerAccount, podAuthority = "porch-fn-runner", "function-pod-ca"
)

func describeRights() {
	Describe("Service accounts of an installation", func() {
		It("have no permissions of the other installation's service accounts", func(ctx context.Context) {
			accounts, err := b.Accounts(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(accounts).To(ContainElements(runnerAccount, "pod-janitor", "image-warmer"))
			rights := rightsOf(ctx, a)
			Expect(len(rights)).To(BeNumerically(">", 20))
			for _, right := range rights {
				Expect(a.May(ctx, right.account, &right.what)).To(BeTrue(), "team-a, %s: %v", right.account, right.what)
				for _, account := range accounts {
					Expect(b.May(ctx, account, &right.what)).To(BeFalse(), "team-b, %s: %v", account, right.what)
				}
			}
		})

		It("have no access to pods, Secrets and settings of the other installation, or of all namespaces", func(ctx context.Context) {
			accounts, err := b.Accounts(ctx)
			Expect(err).NotTo(HaveOccurred())
			for _, namespace := range []string{a.Release.Namespace, a.Release.FunctionNamespace, metav1.NamespaceAll} {
				for _, what := range sensitiveAccess(namespace) {
					for _, account := range accounts {
						Expect(b.May(ctx, account, &what)).To(BeFalse(), "%s: %v", account, what)
					}
				}
			}
		})

		It("are rejected by the API server", func(ctx context.Context) {
			image := push(ctx, shared)
			Expect(a.Evaluate(ctx, image)).To(Succeed())
			before := podsOf(ctx, a, image)
			pods, err := a.FunctionPods(ctx, image)
			Expect(err).NotTo(HaveOccurred())
			Expect(pods).To(HaveLen(1))
			client, anything, err := b.As(ctx, runnerAccount)
			Expect(err).NotTo(HaveOccurred())
			core, list := client.CoreV1(), metav1.ListOptions{}

			By("using the token in its own namespace")
			_, err = core.Pods(b.Release.FunctionNamespace).List(ctx, list)
			Expect(err).NotTo(HaveOccurred())
			_, err = core.Secrets(b.Release.Namespace).Get(ctx, podAuthority, metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())

			By("using it in other namespaces")
			for what, try := range map[string]func() error{
				"list all pods":         func() error { _, err := core.Pods(metav1.NamespaceAll).List(ctx, list); return err },
				"list function runners": func() error { _, err := core.Pods(a.Release.Namespace).List(ctx, list); return err },
				"list function pods":    func() error { _, err := core.Pods(a.Release.FunctionNamespace).List(ctx, list); return err },
				"list Secrets":          func() error { _, err := core.Secrets(a.Release.Namespace).List(ctx, list); return err },
				"list function configs": func() error {
					_, err := anything.Resource(functionconfig.Resource).Namespace(a.Release.FunctionNamespace).List(ctx, list)
					return err
				},
				"get the pods' CA": func() error {
					_, err := core.Secrets(a.Release.Namespace).Get(ctx, podAuthority, metav1.GetOptions{})
					return err
				},
				"get a function pod": func() error {
					_, err := core.Pods(pods[0].Namespace).Get(ctx, pods[0].Name, metav1.GetOptions{})
					return err
				},
				"delete a function pod": func() error { return core.Pods(pods[0].Namespace).Delete(ctx, pods[0].Name, metav1.DeleteOptions{}) },
				"delete all":            func() error { return core.Pods(pods[0].Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, list) },
				"delete a FunctionConfig": func() error {
					return anything.Resource(functionconfig.Resource).Namespace(a.Release.FunctionNamespace).Delete(ctx, "any", metav1.DeleteOptions{})
				},
			} {
				err := try()
				Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", what, err)
			}
			Expect(podsOf(ctx, a, image)).To(Equal(before))
		})
	})
}

// right is a permission of a service account.
type right struct {
	account string
	what    authorizationv1.ResourceAttributes
}

// rightsOf returns the permissions that the Roles in an installation's namespaces grant.
func rightsOf(ctx context.Context, f *fixture.Fixture) []right {
	GinkgoHelper()
	var rights []right
	for _, namespace := range []string{f.Release.Namespace, f.Release.FunctionNamespace} {
		bindings, err := f.Client.RbacV1().RoleBindings(namespace).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		for _, binding := range bindings.Items {
			role, err := f.Client.RbacV1().Roles(namespace).Get(ctx, binding.RoleRef.Name, metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			for _, subject := range binding.Subjects {
				for _, rule := range role.Rules {
					for _, what := range install.Permissions(namespace, rule) {
						rights = append(rights, right{subject.Name, what})
					}
				}
			}
		}
	}
	return rights
}

// sensitiveAccess returns the permissions that an attacker would want in a namespace.
func sensitiveAccess(namespace string) []authorizationv1.ResourceAttributes {
	verbs := []string{"get", "list", "create", "delete"}
	return append(
		install.Permissions(namespace, rbacv1.PolicyRule{
			APIGroups: []string{""}, Verbs: verbs,
			Resources: []string{"pods", "pods/exec", "pods/log", "pods/portforward", "services", "secrets", "configmaps", "serviceaccounts/token"},
		}),
		install.Permissions(namespace, rbacv1.PolicyRule{APIGroups: []string{functionconfig.Resource.Group}, Resources: []string{functionconfig.Resource.Resource}, Verbs: verbs})...,
	)
}
