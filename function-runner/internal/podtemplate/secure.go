// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/wrapperapi"
)

// HealthPort is the port on which a wrapper server with TLS answers the kubelet's health checks in plain text.
const HealthPort = 9448

// Secured returns a copy of the template whose wrapper servers accept connections only from function runners, which present certificates
// of the authorities with the given fingerprints. Probes of the wrapper server's port use the health port instead. A wrapper server
// without support for TLS does not start.
func (t *Template) Secured(authorities []string) (*Template, error) {
	secured := &Template{Pod: *t.Pod.DeepCopy(), Service: t.Service, imageUser: t.imageUser, Injected: t.Injected, authorities: strings.Join(authorities, ",")}
	secured.Pod.Annotations = with(t.Pod.Annotations, map[string]string{functionpod.AuthoritiesAnnotation: secured.authorities})
	function := secured.function()
	function.Args = append(function.Args, "--"+wrapperapi.TLSFlag, "--"+wrapperapi.HealthPortFlag, strconv.Itoa(HealthPort))
	for _, probe := range []*corev1.Probe{function.LivenessProbe, function.ReadinessProbe, function.StartupProbe} {
		askForHealth(probe)
	}
	return secured.versioned()
}

// askForHealth makes a probe of the wrapper server's port use the health port.
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
