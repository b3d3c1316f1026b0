// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
)

// filter is an nftables table. Connections from pods to addresses outside the pod range, including the registry, use the node's address,
// because destinations outside have no route to pods. The table rejects Service addresses that kube-proxy does not handle, because outside
// the cluster, a proxy might answer for any address. Loading it replaces the previous table in one transaction.
const filter = `table ip pods
delete table ip pods
table ip pods {
  chain postrouting {
    type nat hook postrouting priority srcnat
    ip saddr %[1]s ip daddr != %[1]s masquerade
  }
  chain forward {
    type filter hook forward priority filter
    ip daddr %[2]s reject
  }
  chain output {
    type filter hook output priority filter
    ip daddr %[2]s reject
  }
}
`

// addressRanges holds the address ranges of a cluster in CIDR notation.
type addressRanges struct{ pods, services string }

// member is a node with its address and the address range of its pods.
type member struct{ name, address, podRange string }

// connectPods sets up a minimal pod network: a veth pair for each pod, and a route on each node to the pods of every other node. Addresses
// of deleted pods are unreachable. The set of nodes is fixed, so no agent is necessary. connectPods is idempotent. It must be called again
// after a restart of a node, which deletes the routes.
func connectPods(ctx context.Context, client kubernetes.Interface, all []nodes.Node, ranges addressRanges) error {
	members, err := awaitMembers(ctx, client, len(all))
	if err != nil {
		return err
	}
	for _, node := range all {
		for _, m := range members {
			if m.name == node.String() {
				err = errors.Join(writeCNI(node, m.podRange), node.CommandContext(ctx, "ip", "route", "replace", "unreachable", m.podRange).Run())
			} else {
				err = node.CommandContext(ctx, "ip", "route", "replace", m.podRange, "via", m.address).Run()
			}
			if err != nil {
				return fmt.Errorf("pod network of node %s: %w", node, err)
			}
		}
		table := strings.NewReader(fmt.Sprintf(filter, ranges.pods, ranges.services))
		if err := node.CommandContext(ctx, "nft", "-f", "-").SetStdin(table).Run(); err != nil {
			return fmt.Errorf("pod network of node %s: %w", node, err)
		}
	}
	return nil
}

// awaitMembers waits until all nodes have registered and have pod ranges.
func awaitMembers(ctx context.Context, client kubernetes.Interface, count int) ([]member, error) {
	var members []member
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		members = membersOf(list.Items)
		return len(members) == count, nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the pod ranges of %d nodes, %d have one: %w", count, len(members), err)
	}
	return members, nil
}

// membersOf returns the nodes that have a pod range and an address.
func membersOf(all []corev1.Node) []member {
	members := make([]member, 0, len(all))
	for _, node := range all {
		for _, address := range node.Status.Addresses {
			if address.Type == corev1.NodeInternalIP && node.Spec.PodCIDR != "" {
				members = append(members, member{name: node.Name, address: address.Address, podRange: node.Spec.PodCIDR})
				break
			}
		}
	}
	return members
}

// writeCNI writes the file under a temporary name and renames it, because containerd reads it as soon as it exists.
func writeCNI(node nodes.Node, podRange string) error {
	text, err := cniConfig(podRange)
	if err != nil {
		return err
	}
	const unfinished, path = "/etc/cni/net.d/.unfinished", "/etc/cni/net.d/10-pods.conflist"
	if err := nodeutils.WriteFile(node, unfinished, string(text)); err != nil {
		return err
	}
	return node.Command("mv", unfinished, path).Run()
}

// cniConfig returns the CNI configuration of a node with the given pod range.
func cniConfig(podRange string) ([]byte, error) {
	type object = map[string]any
	return json.Marshal(object{
		"cniVersion": "1.0.0",
		"name":       "pods",
		"plugins": []object{
			{
				"type": "ptp", "ipMasq": false,
				"ipam": object{
					"type":   "host-local",
					"ranges": [][]object{{{"subnet": podRange}}},
					"routes": []object{{"dst": "0.0.0.0/0"}},
				},
			},
			{"type": "portmap", "capabilities": map[string]bool{"portMappings": true}},
		},
	})
}
