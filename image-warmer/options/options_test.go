// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/image-warmer/options"
	"github.com/krmfn/krmfn/services/images/reference"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := options.Parse([]string{
		"set-labels:v1", "--image=r.io/a:v1", "--image", "b:v2", "--toleration=a", "--toleration=b=c:NoSchedule", "--pull-timeout=1m",
		"--kptfiles=/p", "--kptfiles=/q", "--prepull", "--wrapper-image=w:v1",
		"--image-rewrite=a.io=b.io",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := options.Options{}
	want.Flags()
	want.Sources.Images, want.Sources.Kptfiles = []string{"r.io/a:v1", "b:v2", "set-labels:v1"}, []string{"/p", "/q"}
	want.Prepull.Enabled, want.Prepull.WrapperImage, want.Prepull.Timeout = true, "w:v1", time.Minute
	want.Prepull.Tolerations = []corev1.Toleration{
		{Key: "a", Operator: corev1.TolerationOpExists},
		{Key: "b", Operator: corev1.TolerationOpEqual, Value: "c", Effect: corev1.TaintEffectNoSchedule},
	}
	if err := want.Rewrites.Set("a.io=b.io"); err != nil {
		t.Fatal(err)
	}
	same := cmp.Comparer(func(a, b reference.Rewrites) bool { return a.String() == b.String() })
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Environment variables replace missing flags.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	pod := []string{"KUBERNETES_SERVICE_HOST=10.0.0.1", "WRAPPER_SERVER_IMAGE=w:v1"}
	for _, tc := range []struct {
		name    string
		args    []string
		environ []string
		prepull bool
		wrapper string
	}{
		{"inside", nil, pod, true, "w:v1"},
		{"outside", nil, nil, false, ""},
		{"flags win", []string{"--prepull=false", "--wrapper-image=w:v2"}, pod, false, "w:v2"},
		{"flags win outside", []string{"--prepull"}, pod[1:], true, "w:v1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o, err := options.Parse(append(tc.args, "a:v1"), tc.environ)
			if err != nil || o.Prepull.Enabled != tc.prepull || o.Prepull.WrapperImage != tc.wrapper {
				t.Errorf("prepull = %v, wrapper image = %q, error = %v, want %v, %q and no error", o.Prepull.Enabled, o.Prepull.WrapperImage, err, tc.prepull, tc.wrapper)
			}
		})
	}
}

func TestNeedsCluster(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"a":                                      true,
		"a --metadata-file=f":                    false,
		"a --metadata-configmap=":                false,
		"a --metadata-file=f --function-configs": true,
		"a --metadata-file=f --prepull --wrapper-image=w": true,
	} {
		o, err := options.Parse(strings.Fields(args), nil)
		if err != nil || o.NeedsCluster() != want {
			t.Errorf("%s: NeedsCluster() = %v, error = %v, want %v", args, o.NeedsCluster(), err, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":          "no images are given",
		"a --bogus": "unknown flag: --bogus",
		"a --format=xml --max-parallel-lookups=0":             `--format is "xml", want table or json; --max-parallel-lookups is "0", want more than 0`,
		"a --toleration=k:Never":                              `effect is "Never", want NoSchedule`,
		"a --toleration==v":                                   `the key "" is invalid`,
		"a --toleration=k=v/w":                                `the value "v/w" is invalid`,
		"a --prepull":                                         "--wrapper-image or the environment variable WRAPPER_SERVER_IMAGE must name",
		"a --prepull --wrapper-image=A":                       "--wrapper-image: function image reference",
		"a --pod-user=root":                                   `--pod-user is "root", want nobody or assigned`,
		"a --prepull --wrapper-image=w --node-selector=a=(":   `--node-selector is "a=("`,
		"a --prepull --wrapper-image=w --image-pull-secret=A": `--image-pull-secret is "A"`,
		"a --image-rewrite=x":                                 "want FROM=TO",
		"a --timeout=0s --interval=1s":                        `--timeout is "0s", want more than 0; --interval is "1s", want 1m or more`,
		"a --watch --dry-run":                                 `--watch is "true", want false with --dry-run`,
		"a --pull-timeout=0":                                  `--pull-timeout is "0s", want more than 0`,
		"a --namespace=A --wrapper-injection=b":               `--namespace is "A", want the name of a namespace; --wrapper-injection is "b", want one of auto`,
		"a --default-image-prefix=http://a":                   `--default-image-prefix is "http://a"`,
	} {
		if _, err := options.Parse(strings.Fields(args), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s) = %v, want an error with %q", args, err, want)
		}
	}
	if _, err := options.Parse([]string{"--help"}, nil); !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("Parse(--help) = %v, want %v", err, pflag.ErrHelp)
	}
}
