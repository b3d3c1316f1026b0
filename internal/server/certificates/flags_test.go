// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/internal/server/flags"
)

func TestFlagProblems(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"": "",
		"--tls-cert-file=c --tls-key-file=k --client-ca-file=a --tls-min-version=1.2 --health-port=9448": "",
		"--tls-cert-file=c":     "--tls-cert-file needs --tls-key-file",
		"--tls-key-file=k":      "--tls-key-file needs --tls-cert-file",
		"--client-ca-file=a":    "--client-ca-file needs --tls-cert-file",
		"--tls-min-version=1.1": `--tls-min-version is "1.1", want 1.2 or 1.3`,
	} {
		var s ServerFlags
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.AddTo(set)
		if err := set.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if err := flags.Check(nil, s.Problems()...); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	for args, want := range map[string]string{
		"": "",
		"--runner-ca=a --runner-cert=c --runner-key=k --runner-server-name=n --runner-token-file=t": "",
		"--runner-cert=c --runner-ca=a":  "--runner-cert needs --runner-key",
		"--runner-cert=c --runner-key=k": "--runner-cert needs --runner-ca",
		"--runner-server-name=n":         "--runner-server-name needs --runner-ca",
	} {
		var c ClientFlags
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		c.AddTo(set)
		if err := set.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if err := flags.Check(nil, c.Problems(true)...); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
		if err := flags.Check(nil, c.Problems(false)...); (err == nil) != (args == "") {
			t.Errorf("%s without a function runner: %v, want success: %v", args, err, args == "")
		}
	}
}
