// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/chart/reach"
	"github.com/krmfn/krmfn/e2e/offline/nodeimage"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// firewallTable returns the name of the nftables table that EnforcePolicies creates on nodes.
func (i *Installation) firewallTable() string {
	return "krmfn_e2e_" + strings.ReplaceAll(i.Release.Namespace, "-", "_")
}

// EnforcePolicies drops connections to TCP ports that the NetworkPolicies in the cluster forbid. It covers connections between the current
// pods of this installation or of the other releases and all pods. Node images built locally have no network plugin that enforces policies;
// on other node images, EnforcePolicies does nothing and returns false. UnenforcePolicies undoes it.
func (i *Installation) EnforcePolicies(ctx context.Context, others []Release, ports ...int32) (bool, error) {
	image, err := command.Run(ctx, "docker", "container", "inspect", "--format", "{{.Config.Image}}", Worker)
	if err != nil || !nodeimage.IsBuilt(strings.TrimSpace(image)) {
		return false, err
	}
	list, err := i.Client.NetworkingV1().NetworkPolicies("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	policies := make([]*networkingv1.NetworkPolicy, len(list.Items))
	for n := range list.Items {
		policies[n] = &list.Items[n]
	}
	ends, err := i.ends(ctx)
	if err != nil {
		return false, err
	}
	own := func(end reach.End) bool {
		return slices.ContainsFunc(append(others, i.Release), func(r Release) bool {
			return end.Namespace == r.Namespace || end.Namespace == r.FunctionNamespace
		})
	}
	rules, err := firewall(i.firewallTable(), policies, ends, own, ports)
	if err != nil {
		return false, err
	}
	return true, onNodes(ctx, "nft -f - <<'RULES'\n"+rules+"RULES")
}

// UnenforcePolicies deletes the packet filters.
func (i *Installation) UnenforcePolicies(ctx context.Context) error {
	return onNodes(ctx, fmt.Sprintf("! nft list table ip %[1]s >/dev/null 2>&1 || nft delete table ip %[1]s", i.firewallTable()))
}

func onNodes(ctx context.Context, script string) error {
	for _, node := range []string{ControlPlane, Worker} {
		if _, err := command.Run(ctx, "docker", "exec", node, "sh", "-c", script); err != nil {
			return fmt.Errorf("packet filter of node %s: %w", node, err)
		}
	}
	return nil
}

// ends returns the running pods that have an IP address of their own.
func (i *Installation) ends(ctx context.Context) ([]reach.End, error) {
	namespaces, err := i.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	labels := map[string]map[string]string{}
	for _, n := range namespaces.Items {
		labels[n.Name] = n.Labels
	}
	pods, err := i.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all []reach.End
	for _, pod := range pods.Items {
		address, err := netip.ParseAddr(pod.Status.PodIP)
		if err != nil || pod.Spec.HostNetwork || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		all = append(all, reach.End{
			Name: pod.Namespace + "/" + pod.Name, Namespace: pod.Namespace, NamespaceLabels: labels[pod.Namespace], Labels: pod.Labels, Address: address,
		})
	}
	return all, nil
}

// firewall returns nft rules that replace the table. The rules cover connections with at least one end for which own returns true.
func firewall(table string, policies []*networkingv1.NetworkPolicy, ends []reach.End, own func(reach.End) bool, ports []int32) (string, error) {
	var rules strings.Builder
	fmt.Fprintf(&rules, "table ip %[1]s\ndelete table ip %[1]s\ntable ip %[1]s {\n  chain forward {\n    type filter hook forward priority filter\n", table)
	for _, from := range ends {
		for _, to := range ends {
			if from.Address == to.Address || !own(from) && !own(to) {
				continue
			}
			var closed []string
			for _, port := range slices.Sorted(slices.Values(ports)) {
				allowed, err := reach.Allowed(policies, from, to, reach.Port{Number: port, Protocol: corev1.ProtocolTCP})
				if err != nil {
					return "", err
				}
				if !allowed {
					closed = append(closed, strconv.Itoa(int(port)))
				}
			}
			if len(closed) > 0 {
				fmt.Fprintf(&rules, "    ip saddr %s ip daddr %s tcp dport { %s } drop\n", from.Address, to.Address, strings.Join(closed, ", "))
			}
		}
	}
	rules.WriteString("  }\n}\n")
	return rules.String(), nil
}
