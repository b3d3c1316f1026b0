// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"testing"
)

func TestEnvironments(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "LC_ALL=C", "AWS_SECRET_ACCESS_KEY=x", "OTEL_TRACES_EXPORTER=none", "TMPDIR=/t", "RENDER_HELM_CHART_DIR=/c", "KUBECONFORM_SCHEMA_LOCATIONS=/s", "FOO=bar"}
	tests := map[string]struct {
		got  []string
		want string
	}{
		"function runner": {got: RunnerEnvironment(environ), want: "PATH=/bin LC_ALL=C RENDER_HELM_CHART_DIR=/c KUBECONFORM_SCHEMA_LOCATIONS=/s"},
		"function image":  {got: ImageEnvironment(environ), want: "PATH=/bin LC_ALL=C AWS_SECRET_ACCESS_KEY=x RENDER_HELM_CHART_DIR=/c KUBECONFORM_SCHEMA_LOCATIONS=/s FOO=bar"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			for i, kv := range tc.got {
				if i > 0 {
					got.WriteByte(' ')
				}
				got.WriteString(kv)
			}
			if got.String() != tc.want {
				t.Errorf("got %q, want %q", got.String(), tc.want)
			}
		})
	}
}
