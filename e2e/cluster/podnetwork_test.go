// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMembersHaveRangeAndAddress(t *testing.T) {
	t.Parallel()
	node := func(name, podRange string, addresses ...corev1.NodeAddress) corev1.Node {
		return corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.NodeSpec{PodCIDR: podRange},
			Status:     corev1.NodeStatus{Addresses: addresses},
		}
	}
	hostname := corev1.NodeAddress{Type: corev1.NodeHostName, Address: "a"}
	address := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "172.18.0.2"}
	second := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fc00::2"}
	got := membersOf([]corev1.Node{
		node("complete", "10.244.0.0/24", hostname, address, second),
		node("without-range", "", address),
		node("without-address", "10.244.1.0/24", hostname),
	})
	want := []member{{name: "complete", address: "172.18.0.2", podRange: "10.244.0.0/24"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(member{})); diff != "" {
		t.Errorf("membersOf() (-want +got):\n%s", diff)
	}
}

func TestCNIConfig(t *testing.T) {
	t.Parallel()
	got, err := cniConfig("10.244.1.0/24")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"cniVersion":"1.0.0","name":"pods","plugins":[` +
		`{"ipMasq":false,"ipam":{"ranges":[[{"subnet":"10.244.1.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}],"type":"host-local"},"type":"ptp"},` +
		`{"capabilities":{"portMappings":true},"type":"portmap"}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("cniConfig() (-want +got):\n%s", diff)
	}
}
