// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package wrapperapi

const (
	// AuthoritiesVariable is the environment variable that contains the certificate authorities, in PEM format, that sign function
	// runners' certificates. They are public. A wrapper server with TLS does not start without them.
	AuthoritiesVariable = "KRMFN_RUNNER_AUTHORITIES"
	// RunnerName is the DNS name in function runners' certificates. A certificate of the same authority with another name is rejected.
	RunnerName = "function-runner.krmfn.dev"
	// TLSFlag makes a wrapper server require certificates of function runners. Wrapper servers without TLS support do not start with
	// this flag.
	TLSFlag = "tls"
	// HealthPortFlag is the flag for the port on which a wrapper server with TLS answers the kubelet's probes in plain text.
	HealthPortFlag = "health-port"
)
