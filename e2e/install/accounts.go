// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Accounts returns the names of the service accounts in the release's namespace.
func (i *Installation) Accounts(ctx context.Context) ([]string, error) {
	list, err := i.Client.CoreV1().ServiceAccounts(i.Release.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("service accounts: %w", err)
	}
	names := make([]string, len(list.Items))
	for n := range list.Items {
		names[n] = list.Items[n].Name
	}
	return names, nil
}

// May reports whether the API server authorises a service account in the release's namespace to perform an action.
func (i *Installation) May(ctx context.Context, account string, what *authorizationv1.ResourceAttributes) (bool, error) {
	review, err := i.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + i.Release.Namespace + ":" + account,
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + i.Release.Namespace, "system:authenticated"},
			ResourceAttributes: what,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("rights of service account %s: %w", account, err)
	}
	return review.Status.Allowed, nil
}

// Permissions expands a rule of a Role in a namespace into single permissions.
func Permissions(namespace string, rule rbacv1.PolicyRule) []authorizationv1.ResourceAttributes {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	all := make([]authorizationv1.ResourceAttributes, 0, len(rule.APIGroups)*len(rule.Resources)*len(rule.Verbs)*len(names))
	for _, group := range rule.APIGroups {
		for _, path := range rule.Resources {
			resource, sub, _ := strings.Cut(path, "/")
			for _, verb := range rule.Verbs {
				for _, name := range names {
					all = append(all, authorizationv1.ResourceAttributes{
						Namespace: namespace, Group: group, Resource: resource, Subresource: sub, Verb: verb, Name: name,
					})
				}
			}
		}
	}
	return all
}

// As returns clients that authenticate with a token of a service account in the release's namespace.
func (i *Installation) As(ctx context.Context, account string) (kubernetes.Interface, dynamic.Interface, error) {
	request, err := i.Client.CoreV1().ServiceAccounts(i.Release.Namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("token of service account %s: %w", account, err)
	}
	admin, err := clientcmd.BuildConfigFromFlags("", i.helm.kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	config := rest.AnonymousClientConfig(admin)
	config.BearerToken = request.Status.Token
	return clients(config)
}
