// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"slices"
	"strings"
)

// inherited are the variables that a function gets from a process that holds secrets. All others are withheld: an
// environment is where credentials, tokens and addresses of a deployment are kept.
var inherited = []string{
	"PATH", "LANG", "LANGUAGE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR",
	// What whoever runs functions permits some of them to read, fetch and write.
	"GENERATE_KPT_PKG_DOCS_DIR", "KUBECONFORM_SCHEMA_LOCATIONS", "RENDER_HELM_CHART_DIR", "RENDER_HELM_CHART_DOWNLOAD",
}

// RunnerEnvironment returns the part of a function runner's environment that its functions may see: PATH, locale, time
// zone, where the CA certificates are, and what functions may read, fetch and write by variables of their own.
func RunnerEnvironment(environ []string) []string {
	return filter(environ, func(key string) bool {
		return strings.HasPrefix(key, "LC_") || slices.Contains(inherited, key)
	})
}

// ImageEnvironment returns the environment of a function's own image: all of a container's environment but what was put
// there for the wrapper server.
func ImageEnvironment(environ []string) []string {
	return filter(environ, func(key string) bool {
		return !strings.HasPrefix(key, "OTEL_") && !strings.HasPrefix(key, "KRMFN_") && !strings.HasPrefix(key, "GRPC_")
	})
}

func filter(environ []string, keep func(key string) bool) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return key == "TMPDIR" || !keep(key)
	})
}
