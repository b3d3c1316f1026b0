// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/releaseutil"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/chart/reach"
	"github.com/krmfn/krmfn/e2e/install"
)

// choices lists values of networkPolicy. Tests combine all options. The first option of each value is the chart's default.
var choices = []struct {
	name    string
	options []string
}{
	{"callers", []string{`[{podSelector: {matchLabels: {app: porch-server}}}]`, `[]`, `[{namespaceSelector: {matchLabels: {team: a}}, podSelector: {matchLabels: {app: controller}}}]`}},
	{"taskHandlerCallers", []string{`[]`, `[{namespaceSelector: {matchLabels: {team: a}}, podSelector: {matchLabels: {app: controller}}}]`}},
	{"metricsReaders", []string{`[{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]`, `[]`}},
	{"meshPorts", []string{`[]`, `[15008]`}},
	{"functionDNS", []string{`false`, `true`}},
	{"egress", []string{`[]`, `[{ports: [{port: 443, protocol: TCP}]}, {to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: istio-system}}}], ports: [{port: 15012, protocol: TCP}]}]`}},
	{"restrictEgress", []string{`false`, `true`}},
	{"componentEgress", []string{`[]`, `[{to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: observability}}}], ports: [{port: 4317, protocol: TCP}]}]`}},
}

// chosen is one combination. It maps the name of a value to the index of the option.
type chosen map[string]int

// combinations returns all combinations of options.
func combinations() []chosen {
	all := []chosen{{}}
	for _, c := range choices {
		var more []chosen
		for _, before := range all {
			for option := range c.options {
				next := maps.Clone(before)
				next[c.name] = option
				more = append(more, next)
			}
		}
		all = more
	}
	return all
}

func (c chosen) values(t *testing.T) map[string]any {
	t.Helper()
	var text strings.Builder
	for _, choice := range choices {
		fmt.Fprintf(&text, "  %s: %s\n", choice.name, choice.options[c[choice.name]])
	}
	return parseValues(t, switches["warmer"]+"\n"+switches["tasks"]+"\nnetworkPolicy:\n"+text.String())
}

// policyTemplates returns the chart with only the templates of NetworkPolicies, which render a hundred times faster.
func policyTemplates(t *testing.T) *chart.Chart {
	t.Helper()
	all := loadChart(t)
	kept := all.Templates[:0]
	for _, file := range all.Templates {
		if strings.HasSuffix(file.Name, ".tpl") || strings.Contains(string(file.Data), "kind: NetworkPolicy") {
			kept = append(kept, file)
		}
	}
	all.Templates = kept
	return all
}

func renderPolicies(t *testing.T, parsed *chart.Chart, values map[string]any) []*networkingv1.NetworkPolicy {
	t.Helper()
	files, err := renderFast(parsed, values)
	if err != nil {
		t.Fatal(err)
	}
	var all []*networkingv1.NetworkPolicy
	for _, text := range files {
		for _, manifest := range releaseutil.SplitManifests(text) {
			policy := new(networkingv1.NetworkPolicy)
			if err := yaml.UnmarshalStrict([]byte(manifest), policy); err != nil {
				t.Fatal(err)
			}
			if policy.Kind == "NetworkPolicy" {
				all = append(all, policy)
			}
		}
	}
	return all
}

func inNamespace(namespace, name string, labels map[string]string) reach.End {
	number := byte(len(namespace)*16 + len(name))
	return reach.End{
		Name: namespace + "/" + name, Namespace: namespace, Labels: labels,
		NamespaceLabels: map[string]string{corev1.LabelMetadataName: namespace}, Address: netip.AddrFrom4([4]byte{10, 244, 0, number}),
	}
}

func outside(name, address string) reach.End {
	return reach.End{Name: name, Address: netip.MustParseAddr(address)}
}

// network returns all ends of connections, by name.
func network(t *testing.T) map[string]reach.End {
	t.Helper()
	tricks := map[string]string{"app": "function-runner", "krmfn.dev/client": "true", "krmfn.dev/metrics": "true"}
	team := inNamespace("team-a", "controller", map[string]string{"app": "controller"})
	team.NamespaceLabels["team"] = "a"
	all := map[string]reach.End{
		"porch":             inNamespace(install.Namespace, "porch-server", map[string]string{"app": "porch-server"}),
		"client":            inNamespace(install.Namespace, "client", map[string]string{"krmfn.dev/client": "true"}),
		"neighbor":          inNamespace(install.Namespace, "neighbor", map[string]string{"app": "postgres"}),
		"function":          inNamespace(install.FunctionNamespace, "function", map[string]string{"krmfn.dev/pool": "a"}),
		"disguised":         inNamespace(install.FunctionNamespace, "disguised", tricks),
		"attacker":          inNamespace("default", "attacker", tricks),
		"attacker as porch": inNamespace("default", "porch-server", map[string]string{"app": "porch-server"}),
		"prometheus":        inNamespace("monitoring", "prometheus", nil),
		"team":              team,
		"dns":               inNamespace("kube-system", "coredns", map[string]string{"k8s-app": "kube-dns"}),
		"collector":         inNamespace("observability", "collector", nil),
		"mesh":              inNamespace("istio-system", "istiod", nil),
		"internet":          outside("internet", "203.0.113.7"),
		"api server":        outside("api server", "172.18.0.2"),
	}
	for _, w := range workloads(t, renderOnce(t, chosen{}.values(t))) {
		if label := w.labels["app"]; label != "" {
			all[map[string]string{
				"function-runner": "runner", "task-handler": "task handler", "krmfn-test": "test", "pod-janitor": "janitor", "image-warmer": "warmer",
			}[label]] = inNamespace(w.GetNamespace(), label, w.labels)
		}
	}
	for name := range strings.SplitSeq(installed+", test", ", ") {
		if all[name].Namespace == "" {
			t.Fatalf("the network has no pod named %s", name)
		}
	}
	return all
}

// where lists the ports to try at every destination.
var where = []reach.Port{
	{Number: 9445, Protocol: corev1.ProtocolTCP},
	{Number: 9446, Protocol: corev1.ProtocolTCP},
	{Number: 9447, Protocol: corev1.ProtocolTCP},
	{Number: 9448, Protocol: corev1.ProtocolTCP},
	{Number: 9464, Protocol: corev1.ProtocolTCP},
	{Number: 15008, Protocol: corev1.ProtocolTCP},
	{Number: 15012, Protocol: corev1.ProtocolTCP},
	{Number: 53, Protocol: corev1.ProtocolUDP},
	{Number: 53, Protocol: corev1.ProtocolTCP},
	{Number: 5353, Protocol: corev1.ProtocolUDP},
	{Number: 443, Protocol: corev1.ProtocolTCP},
	{Number: 6443, Protocol: corev1.ProtocolTCP},
	{Number: 4317, Protocol: corev1.ProtocolTCP},
	{Number: 9445, Protocol: corev1.ProtocolUDP},
}

// allowedRow is a row in a table of allowed connections: sources, destinations, ports, and the combinations in which the row applies.
type allowedRow struct {
	who, whom, ports string
	when             func(c chosen) bool
}

func always(chosen) bool { return true }

func given(name string, option int) func(chosen) bool {
	return func(c chosen) bool { return c[name] == option }
}

// waysIn lists all connections that ingress policies allow. With meshPorts, their sources may also connect to these ports.
var waysIn = []allowedRow{
	{"porch", "runner", "9445/TCP", given("callers", 0)},
	{"team", "runner", "9445/TCP", given("callers", 2)},
	{"client, test, task handler", "runner", "9445/TCP", always},
	{"client", "task handler", "9447/TCP", always},
	{"team", "task handler", "9447/TCP", given("taskHandlerCallers", 1)},
	{"runner", functions, "9446/TCP", always},
	{"prometheus", "runner, task handler, warmer, " + functions, "9464/TCP", given("metricsReaders", 0)},
}

// waysOut lists all connections that egress policies allow. A star matches everything.
var waysOut = []allowedRow{
	{functions, "dns", "53/UDP, 53/TCP, 5353/UDP", given("functionDNS", 1)},
	{functions, "*", "443/TCP", given("egress", 1)},
	{functions, "mesh", "15012/TCP", given("egress", 1)},
	{own, "*", "*", given("restrictEgress", 0)},
	{own, "dns", "53/UDP, 53/TCP, 5353/UDP", always},
	{own, "*", "443/TCP, 6443/TCP", always},
	{own, "collector", "4317/TCP", given("componentEgress", 1)},
	{"runner", functions, "9446/TCP", always},
	{"task handler", "runner", "9445/TCP", always},
}

const (
	// functions are the names of pods in the function namespace, and own are the names of the chart's pods.
	functions, own = "function, disguised", "runner, task handler, janitor, warmer"
	installed      = functions + ", " + own
)

func among(list, name string) bool {
	return list == "*" || slices.Contains(strings.Split(list, ", "), name)
}

// listed reports whether a table contains a connection in a combination.
func listed(rows []allowedRow, c chosen, from, to string, port reach.Port) bool {
	return slices.ContainsFunc(rows, func(r allowedRow) bool {
		mesh := c["meshPorts"] == 1 && port.String() == "15008/TCP" && among(installed, to)
		return r.when(c) && among(r.who, from) && among(r.whom, to) && (among(r.ports, port.String()) || mesh)
	})
}

// For each combination of values, both evaluators allow exactly the connections in the tables.
func TestAllowedConnections(t *testing.T) {
	t.Parallel()
	parsed, ends := policyTemplates(t), network(t)
	for _, c := range combinations() {
		made := renderPolicies(t, parsed, c.values(t))
		second := reach.NewSecond(made)
		for from, source := range ends {
			for to, target := range ends {
				if from == to {
					continue
				}
				for _, port := range where {
					want := (!among(installed, from) || listed(waysOut, c, from, to, port)) && (!among(installed, to) || listed(waysIn, c, from, to, port))
					got, err := reach.Allowed(made, source, target, port)
					if err != nil {
						t.Fatal(err)
					}
					if also := second.Allowed(source, target, port); got != want || also != want {
						t.Errorf("%v: %s to %s at %s: Allowed() = %t, second evaluator = %t, want %t", c, from, to, port, got, also, want)
					}
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}

func TestNoPolicies(t *testing.T) {
	t.Parallel()
	if made := renderPolicies(t, policyTemplates(t), parseValues(t, "networkPolicy: {enabled: false}")); len(made) > 0 {
		t.Errorf("got %d policies, want none", len(made))
	}
}

// Users can open function runners to all callers, including addresses outside the cluster.
func TestOpenToAll(t *testing.T) {
	t.Parallel()
	ends := network(t)
	made := renderPolicies(t, policyTemplates(t), parseValues(t, `networkPolicy: {callers: [{namespaceSelector: {}}, {ipBlock: {cidr: 0.0.0.0/0}}]}`))
	for _, name := range []string{"attacker", "neighbor", "internet", "porch", "team"} {
		for _, evaluated := range []func() (bool, error){
			func() (bool, error) { return reach.Allowed(made, ends[name], ends["runner"], where[0]) },
			func() (bool, error) { return reach.NewSecond(made).Allowed(ends[name], ends["runner"], where[0]), nil },
		} {
			if got, err := evaluated(); err != nil || !got {
				t.Errorf("%s cannot connect to the function runner: %v", name, err)
			}
		}
	}
}

// The schema rejects peers with misspelled fields, which would select nothing.
func TestWrongPeersAreErrors(t *testing.T) {
	t.Parallel()
	for peer, want := range map[string]string{
		"{}":                         "'/networkPolicy/callers/0'",
		"{podselector: {}}":          "'/networkPolicy/callers/0'",
		"{ipBlock: {}}":              "'/networkPolicy/callers/0/ipBlock'",
		"{ipBlock: {cidr: 1.1.1.1}}": "'/networkPolicy/callers/0/ipBlock/cidr'",
	} {
		if _, err := renderChart(t, parseValues(t, "networkPolicy: {callers: ["+peer+"]}")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want one that names %s", peer, err, want)
		}
	}
}
