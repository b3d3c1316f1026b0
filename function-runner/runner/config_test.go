// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/krmfn/krmfn/function-runner/options"
)

func TestRefusedConfigurations(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		disable string
		config  string
		kept    int64
		want    string
	}{
		"pods":                            {want: "--disable-runtimes=pod"},
		"a cache for more than there is":  {disable: "pod", kept: 1 << 60, want: "--result-cache-size is 1152921504606846976 bytes, more than half"},
		"a config file that is not there": {disable: "pod", config: "/does/not/exist", want: "/does/not/exist is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options.Default()
			o.DisableRuntimes, o.Exec.Config, o.Limits.ResultCache.Quantity = tc.disable, tc.config, *resource.NewQuantity(tc.kept, resource.BinarySI)
			_, err := New(t.Context(), Config{Options: o, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("New() = %v, want an error with %q", err, tc.want)
			}
		})
	}
}
