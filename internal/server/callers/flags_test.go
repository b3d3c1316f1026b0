// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/internal/server/certificates"
	"github.com/krmfn/krmfn/internal/server/flags"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	const secured = "--tls-cert-file=c --tls-key-file=k "
	for args, want := range map[string]string{
		"": "",
		secured + "--client-ca-file=a --allowed-clients=spiffe://a/*,b": "",
		secured + "--token-audience=krmfn --allowed-service-accounts=*": "",
		secured + "--allowed-clients=b":                                 "--allowed-clients needs --client-ca-file",
		"--token-audience=krmfn --allowed-service-accounts=a/b":         "--token-audience needs --tls-cert-file",
		secured + "--token-audience=krmfn":                              "must be set together",
		secured + "--allowed-service-accounts=a/b":                      "must be set together",
		secured + "--token-audience=a --allowed-service-accounts=b":     `--allowed-service-accounts is "b", want NAMESPACE/NAME`,
		secured + "--client-ca-file=a --allowed-clients=a*b":            `"a*b" is not a valid caller: * is allowed only at the end`,
	} {
		var f Flags
		var s certificates.ServerFlags
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.AddTo(set)
		s.AddTo(set)
		if err := set.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if err := flags.Check(nil, f.Problems(&s)...); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Check() = %v, want %s", args, err, want)
		}
		if on := f.Enabled(&s); on != (strings.Contains(args, "client-ca") || strings.Contains(args, "audience")) {
			t.Errorf("%s: Enabled() = %v", args, on)
		}
	}
}
