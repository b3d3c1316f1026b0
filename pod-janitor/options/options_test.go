// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/pod-janitor/options"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for args, change := range map[string]func(*options.Options){
		"":                         func(o *options.Options) { o.Output = options.Log },
		"--dry-run":                func(o *options.Options) { o.DryRun, o.Output = true, options.Table },
		"--dry-run --format=log":   func(o *options.Options) { o.DryRun, o.Output = true, options.Log },
		"--format=json --grace=1m": func(o *options.Options) { o.Output, o.Rules.Grace = options.JSON, time.Minute },
		"--qps 0.5 --interval 10s": func(o *options.Options) { o.Output, o.QPS, o.Interval = options.Log, .5, 10*time.Second },
		"--all --stop-deployment=a/b --stop-deployment=a/c.d": func(o *options.Options) {
			o.Output, o.Rules.All, o.StopDeployments = options.Log, true, []string{"a/b", "a/c.d"}
		},
		"--all --await-pods=a/app=b,c!=d": func(o *options.Options) {
			o.Output, o.Rules.All, o.AwaitPods = options.Log, true, []string{"a/app=b,c!=d"}
		},
		"--registry-auth-secret-name=": func(o *options.Options) { o.Output, o.SecretName = options.Log, "" },
	} {
		var want options.Options
		want.Flags()
		change(&want)
		got, err := options.Parse(strings.Fields(args))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", args, err, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--bogus":                       "unknown flag: --bogus",
		"extra":                         `unexpected argument "extra"`,
		"--namespace=":                  `--namespace is "", want the name of a namespace`,
		"--namespace=A_b":               `--namespace is "A_b"`,
		"--registry-auth-secret-name=/": `--registry-auth-secret-name is "/"`,
		"--format=xml":                  `--format is "xml", want log, table or json`,
		"--grace=0s --pod-ttl=-1s":      `--grace is "0s", want more than 0; --pod-ttl is "-1s", want more than 0`,
		"--warmer-ttl=0s":               `--warmer-ttl is "0s"`,
		"--qps=0":                       `--qps is "0"`,
		"--qps=Inf":                     `--qps is "+Inf"`,
		"--qps=NaN":                     `--qps is "NaN"`,
		"--stop-deployment=a/b":         `--stop-deployment is "a/b", want none without --all`,
		"--await-pods=a/b=c":            `--await-pods is "a/b=c", want none without --all`,
		"--all --await-pods=a":          `--await-pods is "a", want NAMESPACE/SELECTOR`,
		"--all --await-pods=a/":         `--await-pods is "a/", want NAMESPACE/SELECTOR`,
		"--all --await-pods=b=c":        `--await-pods is "b=c", want NAMESPACE/SELECTOR`,
		"--all --await-pods=a/b=c=d":    `--await-pods is "a/b=c=d", want NAMESPACE/SELECTOR`,
		"--all --stop-deployment=b":     `--stop-deployment is "b", want NAMESPACE/NAME`,
		"--all --stop-deployment=a/b --stop-deployment=/": `--stop-deployment is "/", want NAMESPACE/NAME`,
		"--all --interval=1s":                             `--interval is "1s", want 0 with --all`,
		"--timeout=0s":                                    `--timeout is "0s"`,
		"--interval=-1s":                                  `--interval is "-1s", want 0 or more`,
		"--log-level=-1":                                  `--log-level is "-1"`,
		"--log-format=xml":                                `--log-format is "xml", want json or text`,
	} {
		if _, err := options.Parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s) = %v, want %s", args, err, want)
		}
	}
}
