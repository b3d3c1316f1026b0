// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

// HealthPort is where a wrapper server with TLS answers the kubelet, which speaks none.
const HealthPort = 9448

// Trust is whom wrapper servers let connect. It is public.
type Trust struct {
	// Authorities are certificates in PEM format, and Fingerprints name them.
	Authorities  string
	Fingerprints []string
}

// Secured returns the template whose pods let function runners alone connect. Probes that ask the wrapper server's port ask for its
// health in plain text. A wrapper server that knows nothing of TLS does not start.
func (t *Template) Secured(trust Trust) (*Template, error) {
	secured := &Template{Pod: *t.Pod.DeepCopy(), Service: t.Service, imageUser: t.imageUser, Injected: t.Injected, authorities: trust.Authorities}
	secured.Pod.Annotations = with(t.Pod.Annotations, map[string]string{functionpod.AuthoritiesAnnotation: strings.Join(trust.Fingerprints, ",")})
	function := secured.function()
	function.Args = append(function.Args, "--"+wrapperapi.TLSFlag, "--"+wrapperapi.HealthPortFlag, strconv.Itoa(HealthPort))
	for _, probe := range []*corev1.Probe{function.LivenessProbe, function.ReadinessProbe, function.StartupProbe} {
		askForHealth(probe)
	}
	return secured.versioned()
}

// askForHealth has a probe ask the port of health in place of the one of calls.
func askForHealth(probe *corev1.Probe) {
	switch {
	case probe == nil:
	case probe.GRPC != nil && probe.GRPC.Port == Port:
		probe.GRPC.Port = HealthPort
	case probe.Exec != nil:
		for i, arg := range probe.Exec.Command {
			if before, ok := strings.CutSuffix(arg, ":"+strconv.Itoa(Port)); ok {
				probe.Exec.Command[i] = before + ":" + strconv.Itoa(HealthPort)
			}
		}
	}
}
