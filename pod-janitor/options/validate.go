// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/krmfn/krmfn/pod-janitor/internal/report"
	"github.com/krmfn/krmfn/services/server/flags"
	"github.com/krmfn/krmfn/services/server/logging"
)

// leastSecretTTL leaves a function runner, which renews the pull secret every hour, one more try.
const leastSecretTTL = 2 * time.Hour

// validate names every flag that is wrong.
func (o *Options) validate(args []string) error { return flags.Check(args, o.rules()) }

func (o *Options) rules() []flags.Rule {
	const positive = flags.Positive
	r := o.Rules
	return []flags.Rule{
		flags.That(len(validation.IsDNS1123Label(o.Namespace)) == 0, "namespace", o.Namespace, "the name of a namespace"),
		flags.That(o.SecretName == "" || len(validation.IsDNS1123Subdomain(o.SecretName)) == 0, "registry-auth-secret-name", o.SecretName, "the name of a Secret, or nothing"),
		flags.That(o.Output == report.Log || o.Output == report.Table || o.Output == report.JSON, "output", o.Output, "log, table or json"),
		flags.That(r.Grace > 0, "grace", r.Grace, positive),
		flags.That(r.PodTTL > 0, "pod-ttl", r.PodTTL, positive),
		flags.That(r.WarmerTTL > 0, "warmer-ttl", r.WarmerTTL, positive),
		flags.That(r.SecretTTL >= leastSecretTTL, "secret-ttl", r.SecretTTL, "at least 2h, as function runners renew it every hour"),
		flags.That(o.QPS > 0 && !math.IsInf(o.QPS, 0), "qps", o.QPS, positive),
		flags.That(o.MaxDeletions > 0, "max-deletions", o.MaxDeletions, positive),
		flags.That(o.Timeout > 0, "timeout", o.Timeout, positive),
		flags.That(o.Interval >= 0, "interval", o.Interval, "0 or more"),
		flags.That(!r.All || o.Interval == 0, "interval", o.Interval, "0 with --all"),
		flags.That(o.LogLevel >= 0, "log-level", o.LogLevel, "0 or more"),
		flags.That(o.LogFormat == logging.JSON || o.LogFormat == logging.Text, "log-format", o.LogFormat, "json or text"),
	}
}
