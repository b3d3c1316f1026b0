// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// Installations of Porch rely on these defaults.
func TestDefaults(t *testing.T) {
	t.Parallel()
	var o Options
	got := map[string]string{}
	o.Flags().VisitAll(func(f *pflag.Flag) { got[f.Name] = f.DefValue })
	for name, want := range map[string]string{
		"port": "9445", "disable-runtimes": "", "log-level": "2", "kubeconfig": "", "functions": "./functions", "config": "./config.yaml",
		"pod-cache-config": "/pod-cache-config/pod-cache-config.yaml", "warm-up-pod-cache": "true", "pod-namespace": "porch-fn-system",
		"pod-ttl": "30m0s", "scan-interval": "1m0s", "function-pod-template": "", "max-request-body-size": "6291456",
		"max-waitlist-length": "2", "max-parallel-pods-per-function": "1", "enable-private-registries": "false",
		"registry-auth-secret-path": "/var/tmp/config-secret/.dockerconfigjson", "registry-auth-secret-name": "auth-secret",
		"enable-private-registries-tls": "false", "tls-secret-path": "/var/tmp/tls-secret/",
		"default-image-prefix": "ghcr.io/kptdev/krm-functions-catalog/",
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("default of --%s = %q (defined: %v), want %q", name, value, ok, want)
		}
	}
	d := Default()
	if err := d.validate(nil); err != nil {
		t.Errorf("validate() of the defaults = %v, want nil", err)
	}
}

// Porch's manifest has flags with one dash and with two.
func TestParse(t *testing.T) {
	t.Parallel()
	o, err := Parse(strings.Fields("--config=/home/nonroot/config.yaml -functions=/home/nonroot/functions --pod-namespace=ns " +
		"-max-request-body-size 100 --max-parallel-pods-per-function=2 --max-waitlist-length=1 --warm-up-pod-cache=false -pod-ttl=1h"))
	if err != nil {
		t.Fatal(err)
	}
	if o.Exec.Functions != "/home/nonroot/functions" || o.Limits.MaxMessageSize != 100 || o.Pod.WarmUp || o.Pod.TTL != time.Hour || o.Pod.MaxPods != 2 {
		t.Errorf("Parse() = %+v, want the values of the flags", o)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--no-such-flag":                             "no-such-flag",
		"--function-configs=on":                      `--function-configs is "on", want one of auto, off`,
		"--port=70000":                               `--port is "70000", want 0 to 65535`,
		"--port=x":                                   "--port",
		"--disable-runtimes=exec,wasm":               `--disable-runtimes names "wasm", want exec or pod`,
		"--scan-interval=0":                          `--scan-interval is "0s", want more than 0`,
		"--pod-ttl=-1s --max-waitlist-length=0":      `--pod-ttl is "-1s", want more than 0; --max-waitlist-length is "0"`,
		"--max-request-body-size=0":                  "--max-request-body-size",
		"--result-cache-size=-1":                     `--result-cache-size is "-1", want 0 or more`,
		"--result-cache-size=much":                   "--result-cache-size",
		"--max-resource-list-size=5":                 "at least --max-request-body-size",
		"--pod-namespace=Not_Valid":                  "--pod-namespace",
		"--pod-image-form=tag":                       `--pod-image-form is "tag", want one of digest, reference`,
		"--pod-user=root":                            `--pod-user is "root", want one of nobody, assigned`,
		"--image-pull-secret=A":                      `--image-pull-secret is "A", want the name of a Secret`,
		"--default-image-prefix=https://r.io":        "without a scheme",
		"--log-format=xml":                           "json or text",
		"--health-port=-1":                           `--health-port is "-1"`,
		"--tls-cert-file=c":                          "--tls-cert-file needs --tls-key-file",
		"--allowed-clients=a":                        "--allowed-clients needs --client-ca-file",
		"stray":                                      `unexpected argument "stray"`,
		"--deployment=a/b":                           `--deployment is "a/b", want the name of a Deployment`,
		"--function-pod-template=a/b":                "the name of a ConfigMap",
		"--max-concurrent-evaluations=0":             "--max-concurrent-evaluations",
		"--max-evaluation-time=0s --drain-timeout=0": "--drain-timeout",
	} {
		if _, err := Parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s) = %v, want an error with %q", args, err, want)
		}
	}
}

func TestEnabled(t *testing.T) {
	t.Parallel()
	o := Options{DisableRuntimes: " pod , "}
	if !o.Enabled(RuntimeExec) || o.Enabled(RuntimePod) {
		t.Error("want exec enabled and pod disabled")
	}
}

// Every numeric flag has a validation rule.
func TestEveryNumberHasARule(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("validate.go")
	if err != nil {
		t.Fatal(err)
	}
	var o Options
	o.Flags().VisitAll(func(f *pflag.Flag) {
		if kind := f.Value.Type(); kind != "int" && kind != "int64" && kind != "duration" {
			return
		}
		if !regexp.MustCompile(`"` + regexp.QuoteMeta(f.Name) + `"`).Match(source) {
			t.Errorf("--%s has no validation rule", f.Name)
		}
	})
}
