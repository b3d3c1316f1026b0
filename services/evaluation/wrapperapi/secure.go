// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package wrapperapi

const (
	// AuthoritiesVariable is the environment variable with the certificate authorities, in PEM format, that sign the certificates of
	// function runners. They are public. A wrapper server with TLS does not start without them.
	AuthoritiesVariable = "KRMFN_RUNNER_AUTHORITIES"
	// RunnerName is the DNS name in the certificates of function runners: one that the same authority has signed for another purpose
	// is not enough.
	RunnerName = "function-runner.krmfn.dev"
	// TLSFlag has a wrapper server demand certificates of function runners. Wrapper servers that know nothing of TLS do not start
	// with it.
	TLSFlag = "tls"
	// HealthPortFlag gives the port on which a wrapper server with TLS answers the kubelet in plain text.
	HealthPortFlag = "health-port"
)
