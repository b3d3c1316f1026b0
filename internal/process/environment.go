// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"slices"
	"strings"
)

// inherited lists the variables that a function gets from a server's environment. All others are withheld, because the server's
// environment may contain credentials, tokens and addresses.
var inherited = []string{
	"PATH", "LANG", "LANGUAGE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR",
	// With these variables, the operator allows functions to access files, schemas and Helm charts.
	"GENERATE_KPT_PKG_DOCS_DIR", "KUBECONFORM_SCHEMA_LOCATIONS", "RENDER_HELM_CHART_DIR", "RENDER_HELM_CHART_DOWNLOAD",
}

// RunnerEnvironment returns the part of a function runner's environment that functions get: PATH, locale, time zone, the location of CA
// certificates, and the variables that configure what individual functions may read, write and download.
func RunnerEnvironment(environ []string) []string {
	return filter(environ, func(key string) bool {
		return strings.HasPrefix(key, "LC_") || slices.Contains(inherited, key)
	})
}

// ImageEnvironment returns the environment of a function that runs in its own image: the container's environment without the variables
// that configure the wrapper server.
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
