// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/e2e/install"
)

// With TLS, kubelets probe a separate port without TLS, and the chart's own clients present the certificate that servers accept.
func TestTLS(t *testing.T) {
	t.Parallel()
	r := renderOnce(t, install.MergeValues(parseValues(t, switches["tasks"]), parseValues(t, variants["callers"])))
	flags := map[string][]string{}
	for _, w := range workloads(t, r) {
		for _, c := range w.spec.Containers {
			flags[w.GetName()] = slices.Concat(c.Command, c.Args)
			for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
				if probe != nil && probe.GRPC.Port != 9448 {
					t.Errorf("probe port = %d in %s, want 9448", probe.GRPC.Port, w)
				}
			}
		}
	}
	name := "function-runner." + install.Namespace + ".svc"
	for workload, want := range map[string][]string{
		"function-runner": {"--client-ca-file=/tls/ca.crt", "--health-port=9448", "--allowed-clients=spiffe://a/*,b," + name, "--token-audience=krmfn"},
		"task-handler":    {"--client-ca-file=/tls/ca.crt", "--runner-cert=/tls/tls.crt", "--runner-server-name=" + name},
		"krmfn-test-0":    {"--runner-ca=/tls/ca.crt", "--runner-key=/tls/tls.key", "--runner-server-name=" + name},
	} {
		for _, flag := range want {
			if !slices.Contains(flags[workload], flag) {
				t.Errorf("%s: flags lack %s: %q", workload, flag, flags[workload])
			}
		}
	}
}

// The chart rejects TLS values that look secure but have no effect, or that the servers refuse.
func TestTLSThatIsIncomplete(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		`{clientCertificates: true}`:                                                 `tls.clientCertificates is true, but tls.secret is ""`,
		`{issuerRef: {name: ca}}`:                                                    `tls.issuerRef is {"name":"ca"}, but tls.secret is ""`,
		`{secret: tls, allowedClients: [a]}`:                                         `tls.allowedClients is ["a"], but tls.clientCertificates is false`,
		`{secret: tls, tokenAudience: krmfn, allowedServiceAccounts: [a/b]}`:         `tls.tokenAudience is "krmfn", but tls.clientCertificates is false`,
		`{secret: tls, clientCertificates: true, tokenAudience: krmfn}`:              `tls.tokenAudience is "krmfn", but tls.allowedServiceAccounts is []`,
		`{secret: tls, clientCertificates: true, allowedServiceAccounts: [a/b]}`:     `tls.allowedServiceAccounts is ["a/b"], but tls.tokenAudience is ""`,
		`{secret: tls, clientCertificates: true, allowedServiceAccounts: [nobody]}`:  `'/tls/allowedServiceAccounts/0'`,
		`{secret: tls, clientCertificates: true, allowedClients: ["*.example.org"]}`: `'/tls/allowedClients/0'`,
		`{secret: tls, issuerRef: {kind: Issuer}}`:                                   `'/tls/issuerRef'`,
	} {
		if _, err := renderChart(t, parseValues(t, "tls: "+values)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %q", values, err, want)
		}
	}
}
