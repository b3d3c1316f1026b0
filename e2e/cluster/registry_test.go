// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "testing"

func TestGateway(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ in, want string }{
		"IPv6 first": {`[{"IPAM":{"Config":[{"Subnet":"fc00::/64","Gateway":"fc00::1"},{"Subnet":"172.18.0.0/16","Gateway":"172.18.0.1"}]}}]`, "172.18.0.1"},
		"IPv6 only":  {`[{"IPAM":{"Config":[{"Subnet":"fc00::/64"}]}}]`, ""},
		"no network": {`[]`, ""},
		"no JSON":    {`Error: No such network`, ""},
	} {
		got, err := gateway([]byte(test.in))
		if (err != nil) != (test.want == "") {
			t.Errorf("%s: gateway() error = %v, want an error: %t", name, err, test.want == "")
		}
		if err == nil && got.String() != test.want {
			t.Errorf("%s: gateway() = %s, want %s", name, got, test.want)
		}
	}
}
